// Kernels that call a function of routines/ for what loops over elements cannot express. Halide's code
// prepares what the function reads and stores what it returns.
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/routines/top_k_room.h"

namespace intarsia::halide {
namespace {

using Halide::cast;
using Halide::reinterpret;
using Halide::select;

/// Elements below which a parallel loop over rows costs more than it saves.
constexpr int64_t min_parallel_elements = 16384;

/// Returns an unsigned integer, of 32 or 64 bits, that is greater where the number is: NaN is the greatest,
/// both zeros are equal.
Expr order_key(const Expr& x) {
  const Halide::Type type = x.type();
  const bool is_long = type.bits() == 64;
  const Halide::Type key = Halide::UInt(is_long ? 64 : 32);
  if (type.is_uint()) return cast(key, x);
  const Expr sign = Halide::Internal::make_const(key, uint64_t{1} << (key.bits() - 1));
  if (type.is_int()) return reinterpret(key, cast(key.with_code(Halide::Type::Int), x)) ^ sign;
  const Expr bits = reinterpret(key, x), size = bits & (sign - 1),
             infinity = Halide::Internal::make_const(key, is_long ? 0x7ff0000000000000 : 0x7f800000);
  const Expr ordered = select(size == 0, sign, (bits & sign) == 0, bits | sign, ~bits);
  return select(size > infinity, key.max(), ordered);
}

/// Shares the first loop outside of a row that is long enough among threads.
void share_rows(const KernelBuilder& b, Func out, const std::vector<Var>& rows, int64_t elements) {
  const int threads = b.kernel().threads;
  if (threads == 1 || elements < min_parallel_elements) return;
  for (size_t i = 0; i < rows.size(); ++i)
    if (typical(b.output().shape[i]) >= threads) {
      out.parallel(rows[i]);
      return;
    }
}

Dim entries_of_top_k(const Dim& k, const Dim& length) {
  if (!k.is_number() || !length.is_number()) return length + routines::top_k_block;
  return routines::top_k_room(as_int(k.number()), as_int(length.number()));
}

/// Finds the greatest keys of each row: of numbers, or of what orders them the other way round.
BuiltKernel build_top_k(KernelBuilder& b) {
  const Node& node = b.anchor();
  const SymbolicShape& in = b.sizes(node.inputs[0]);
  const std::vector<Var> vars = make_vars(in.size(), "i");
  const std::vector<Var> rows(vars.begin(), vars.end() - 1);
  const Var place = vars.back();
  const Expr length = b.size(in.back());

  Func keys("keys"), chosen("chosen"), out("out");
  const Expr key = order_key(b.operand(node.inputs[0]).at(to_exprs(vars)));
  keys(vars) = attributes_of<TopKAttributes>(node).largest ? key : ~key;
  const int bits = key.type().bits();
  chosen.define_extern(fmt::format("intarsia_top_k_{}", bits), {Halide::user_context_value(), keys, length},
                       Halide::Int(32), vars);
  out(vars) = cast<int64_t>(chosen(to_exprs(vars)));

  const std::vector<Var> inner_first(vars.rbegin(), vars.rend());
  const std::vector<Halide::VarOrRVar> loops(inner_first.begin(), inner_first.end());
  out.reorder(loops);
  share_rows(b, out, rows, element_count(typical_shape(in)));
  const int factor = vector_factor(typical(in.back()), b.isa().lanes(bits / 8));
  keys.reorder(loops).vectorize(place, factor, Halide::TailStrategy::GuardWithIf);
  if (!rows.empty()) keys.reorder_storage(inner_first), chosen.reorder_storage(inner_first);
  const Halide::LoopLevel level =
      rows.empty() ? Halide::LoopLevel::root() : Halide::LoopLevel(out, rows.back());
  keys.store_at(level).compute_at(level).bound_storage(place, length);
  chosen.store_at(level).compute_at(level).bound_storage(place, b.size(b.output().shape.back()));
  for (const Var& row : rows) keys.bound_storage(row, 1), chosen.bound_storage(row, 1);
  BuiltKernel built = b.finish(out, b.output());
  built.routine_blocks = {entries_of_top_k(b.output().shape.back(), in.back()) * (2 * (bits / 8))};
  return built;
}

/// Computes rows of the output, `step` at a time, by a function that reads the inputs itself: `arguments` are
/// its, after the kernel's context.
BuiltKernel call_for_rows(KernelBuilder& b, const std::string& function,
                          std::vector<Halide::ExternFuncArgument> arguments, int64_t step) {
  const std::vector<Var> vars = make_vars(b.output().shape.size(), "i");
  Func made("made"), out("out");
  arguments.insert(arguments.begin(), Halide::user_context_value());
  made.define_extern(function, arguments, b.type(b.anchor().outputs[0]), vars);
  out(vars) = made(to_exprs(vars));

  std::vector<Var> inner_first(vars.rbegin(), vars.rend());
  const Expr rows = b.size(b.output().shape[0]), together = Halide::min(rows, as_int(step));
  const Var first("first"), row("row");
  out.split(vars[0], first, row, together, Halide::TailStrategy::ShiftInwards);
  std::vector<Halide::VarOrRVar> loops(inner_first.begin(), inner_first.end());
  loops.back() = row;
  loops.emplace_back(first);
  out.reorder(loops);
  if (b.kernel().threads > 1 && typical(b.output().shape[0]) >= 2 * step) out.parallel(first);
  made.reorder_storage(inner_first).compute_at(out, first).bound_storage(vars[0], together);
  for (size_t i = 1; i < vars.size(); ++i) made.bound_storage(vars[i], b.size(b.output().shape[i]));
  return b.finish(out, b.output());
}

/// Returns the bytes of what a region's bins are computed with: along each axis, weights of the elements of
/// each bin and their ends, and a row of sums.
std::vector<Dim> blocks_of_roi_align(const KernelBuilder& b, int64_t sampling) {
  constexpr int64_t bytes_of_tap = 16, bytes_of_end = 8, bytes_of_sum = 4;
  const SymbolicShape &image = b.sizes(b.anchor().inputs[0]), &bins = b.output().shape;
  std::vector<Dim> blocks{image[3] * bytes_of_sum};
  for (const size_t axis : {size_t{2}, size_t{3}}) {
    const Dim taps = sampling > 0 ? smaller_of(Dim(2 * sampling), image[axis]) : image[axis];
    blocks.push_back((bins[axis] * taps + 1) * bytes_of_tap);
    blocks.push_back(bins[axis] * bytes_of_end);
  }
  return blocks;
}

BuiltKernel build_roi_align(KernelBuilder& b) {
  const Node& node = b.anchor();
  const RoiAttributes roi = attributes_of<RoiAttributes>(node);
  BuiltKernel built =
      call_for_rows(b, "intarsia_roi_align",
                    {b.buffer(node.inputs[0]), b.buffer(node.inputs[1]), b.buffer(node.inputs[2]),
                     as_int(roi.sampling), Expr(roi.scale), int{roi.half_pixel}, int{roi.maximum}},
                    1);
  if (!roi.maximum) built.routine_blocks = blocks_of_roi_align(b, roi.sampling);
  return built;
}

BuiltKernel build_max_roi_pool(KernelBuilder& b) {
  const Node& node = b.anchor();
  return call_for_rows(
      b, "intarsia_max_roi_pool",
      {b.buffer(node.inputs[0]), b.buffer(node.inputs[1]), Expr(attributes_of<RoiAttributes>(node).scale)},
      1);
}

BuiltKernel build_tree_ensemble(KernelBuilder& b) {
  constexpr int64_t rows = 32, bytes_of_score = 8;
  const Node& node = b.anchor();
  std::vector<Halide::ExternFuncArgument> arguments;
  for (ValueId input : node.inputs) arguments.emplace_back(b.buffer(input));
  arguments.emplace_back(as_int(attributes_of<TreeAttributes>(node).aggregate));
  BuiltKernel built =
      call_for_rows(b, fmt::format("intarsia_tree_ensemble_{}", b.type(node.outputs[0]).bits()),
                    std::move(arguments), rows);
  built.routine_blocks = {b.output().shape[1] * (rows * bytes_of_score)};
  return built;
}

/// Computes the output by one call of a function that writes it all: `arguments` are its.
BuiltKernel call_once(KernelBuilder& b, const std::string& function,
                      const std::vector<Halide::ExternFuncArgument>& arguments) {
  Func out("out");
  out.define_extern(function, arguments, storage_type(b.output().dtype),
                    make_vars(b.output().shape.size(), "i"));
  return b.finish(out, b.output());
}

BuiltKernel build_max_unpool(KernelBuilder& b) {
  BuiltKernel built = call_once(
      b, "intarsia_max_unpool",
      {Halide::user_context_value(), b.buffer(b.anchor().inputs[0]), b.buffer(b.anchor().inputs[1])});
  built.routine_blocks = {b.output().shape[0] + 1};  // a byte for each plane
  return built;
}

/// Finds distinct slices by rows of unsigned keys in their order.
BuiltKernel build_unique(KernelBuilder& b) {
  const Node& node = b.anchor();
  const auto attributes = attributes_of<CountedAttributes>(node);
  const SymbolicShape& rows = b.sizes(node.inputs[0]);
  Func keys("keys");
  const Var i("i"), j("j");
  const Expr key = order_key(b.operand(node.inputs[0]).at({i, j}));
  keys(i, j) = key;
  keys.reorder(j, i).reorder_storage(j, i).compute_root();
  keys.bound_storage(i, b.size(rows[0])).bound_storage(j, b.size(rows[1]));
  return call_once(
      b, fmt::format("intarsia_unique_{}", key.type().bits()),
      {Halide::user_context_value(), keys, b.buffer(node.inputs[1]), b.size(rows[0]), b.size(rows[1]),
       as_int(attributes.wanted), int{attributes.sorted}, int{attributes.nan_apart}});
}

BuiltKernel build_non_zero(KernelBuilder& b) {
  const auto attributes = attributes_of<CountedAttributes>(b.anchor());
  const Dim& axes = attributes.sizes[attributes.as_rows ? 1 : 0];
  return call_once(b, "intarsia_non_zero",
                   {b.buffer(b.anchor().inputs[0]), as_int(axes.number()), int{attributes.as_rows}});
}

BuiltKernel build_non_max_suppression(KernelBuilder& b) {
  const auto attributes = attributes_of<CountedAttributes>(b.anchor());
  std::vector<Halide::ExternFuncArgument> arguments{Halide::user_context_value()};
  for (ValueId input : b.anchor().inputs) arguments.emplace_back(b.buffer(input));
  arguments.emplace_back(int{attributes.has_score});
  arguments.emplace_back(int{attributes.centered});
  arguments.emplace_back(Expr(attributes.sigma));
  arguments.emplace_back(static_cast<int>(attributes.parts));
  return call_once(b, "intarsia_non_max_suppression", arguments);
}

/// Draws all numbers at once, as each depends on those before it.
BuiltKernel build_random(KernelBuilder& b) {
  const RandomAttributes random = attributes_of<RandomAttributes>(b.anchor());
  const std::vector<Var> vars = make_vars(b.output().shape.size(), "i");
  const Expr seed = Halide::Internal::make_const(Halide::UInt(32), static_cast<uint64_t>(random.seed));
  Func drawn("drawn"), out("out");
  drawn.define_extern("intarsia_random", {seed, int{random.normal}}, Halide::Float(64), vars);
  out(vars) = drawn(to_exprs(vars));
  drawn.compute_root();
  if (vars.size() > 1) drawn.reorder_storage(std::vector<Var>(vars.rbegin(), vars.rend()));
  for (size_t i = 0; i < vars.size(); ++i) drawn.bound_storage(vars[i], b.size(b.output().shape[i]));
  schedule_pointwise(b, out, vars);
  return b.finish(out, b.output());
}

}  // namespace

BuiltKernel build_routine(KernelBuilder& b) {
  switch (op_of(b.anchor())) {
    case CoreOp::roi_align:
      return build_roi_align(b);
    case CoreOp::max_roi_pool:
      return build_max_roi_pool(b);
    case CoreOp::tree_ensemble:
      return build_tree_ensemble(b);
    case CoreOp::max_unpool:
      return build_max_unpool(b);
    case CoreOp::random:
      return build_random(b);
    case CoreOp::non_zero:
      return build_non_zero(b);
    case CoreOp::compress:
      return call_once(
          b, "intarsia_compress",
          {Halide::user_context_value(), b.buffer(b.anchor().inputs[0]), b.buffer(b.anchor().inputs[1])});
    case CoreOp::unique:
      return build_unique(b);
    case CoreOp::non_max_suppression:
      return build_non_max_suppression(b);
    default:
      return build_top_k(b);
  }
}

}  // namespace intarsia::halide
