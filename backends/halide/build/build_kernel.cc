#include "backends/halide/build/build_kernel.h"

#include <algorithm>
#include <limits>

#include "backends/halide/abi/element_types.h"

namespace intarsia::halide {
namespace {

Expr scalar_expr(const Tensor& tensor) {
  Halide::Type type = expr_type(tensor.dtype());
  if (tensor.dtype() == DType::i64)
    return Halide::Internal::make_const(type, *static_cast<const int64_t*>(tensor.data()));
  if (tensor.dtype() == DType::u64)
    return Halide::Internal::make_const(type, *static_cast<const uint64_t*>(tensor.data()));
  double number = read_scalar(tensor).value_or(0);
  if (tensor.dtype() == DType::boolean) return Halide::Internal::make_bool(number != 0);
  return Halide::Internal::make_const(type, number);
}

/// Checks whether Halide loads a vector with this stride as one vector of all elements between its first and
/// its last, which OpenCL C does not have. With the caller's stride it loads element by element.
bool becomes_wide(const Dim& stride) {
  return stride.is_number() && stride.number() > 1 && stride.number() < 16;
}

/// Computes an operation of a size; floor divisions have positive divisors, for which Halide's `/` rounds
/// down.
Expr combine(SizePart::Kind kind, const Expr& a, const Expr& b) {
  switch (kind) {
    case SizePart::Kind::add:
      return a + b;
    case SizePart::Kind::multiply:
      return a * b;
    case SizePart::Kind::floor_div:
      return a / b;
    case SizePart::Kind::smaller:
      return Halide::min(a, b);
    case SizePart::Kind::larger:
      return Halide::max(a, b);
    case SizePart::Kind::number:
    case SizePart::Kind::symbol:
      break;
  }
  INTARSIA_CHECK(false);
  return {};
}

/// Returns the index of the argument on the axis that tells its place (kernel_device.h).
Expr place_of(Halide::OutputImageParam param) { return param.dim(param.dimensions() - 1).extent() - 1; }

/// Returns the mapping for the kernel's target; the one for devices is right on every kind of device.
Mapping choose_mapping(const Kernel& kernel) {
  return kernel.isa.is_offloaded() ? Mapping::tile_per_item : Mapping::loops;
}

BuiltKernel build_by_schedule(KernelBuilder& builder) {
  switch (builder.kernel().contraction().schedule.algorithm) {
    case ContractionSchedule::Algorithm::depthwise:
    case ContractionSchedule::Algorithm::depthwise_in_place:
      return build_depthwise(builder);
    case ContractionSchedule::Algorithm::winograd_2x2:
    case ContractionSchedule::Algorithm::winograd_4x4:
      return build_winograd(builder);
    case ContractionSchedule::Algorithm::direct:
      break;
  }
  return build_contraction(builder);
}

}  // namespace

bool has_dense_pixels(const KernelBuilder& b, ValueId value) {
  for (size_t i = 0; i < b.body().inputs.size(); ++i)
    if (b.body().inputs[i] == value)
      return b.kernel().inputs[i].strides[1] == 1 || b.kernel().inputs[i].shape[1] == 1;
  return false;
}

Halide::Type expr_type(DType dtype) {
  const ElementType* type = find_element_type(dtype);
  INTARSIA_CHECK(type != nullptr);  // canonicalization refuses all other types
  return Halide::Type(static_cast<halide_type_code_t>(type->code), type->bits, 1);
}

Halide::Type storage_type(DType dtype) {
  return dtype == DType::boolean ? Halide::UInt(8) : expr_type(dtype);
}

Expr stored(Expr value) { return value.type().is_bool() ? Halide::cast<uint8_t>(value) : value; }

Expr least_of(Halide::Type type) {
  return type.is_float() ? Halide::Internal::make_const(type, -std::numeric_limits<double>::infinity())
                         : type.min();
}

Expr greatest_of(Halide::Type type) {
  return type.is_float() ? Halide::Internal::make_const(type, std::numeric_limits<double>::infinity())
                         : type.max();
}

std::vector<Var> make_vars(size_t count, const char* name) {
  std::vector<Var> vars;
  for (size_t i = 0; i < count; ++i) vars.emplace_back(fmt::format("{}{}", name, i));
  return vars;
}

Exprs to_exprs(const std::vector<Var>& vars) { return {vars.begin(), vars.end()}; }

int vector_factor(int64_t extent, int lanes) {
  int factor = 1;
  while (factor * 2 <= std::min<int64_t>(extent, lanes)) factor *= 2;
  return factor;
}

void BuiltKernel::leave(const EvenTiles& tiles) {
  arguments.insert(arguments.end(), {tiles.first, tiles.count, tiles.tile});
  even_tiles = tiles;
}

KernelBuilder::KernelBuilder(const Kernel& kernel, OuterLoops outer_loops)
    : kernel_(kernel),
      mapping_(choose_mapping(kernel)),
      outer_loops_(outer_loops),
      operands_(kernel.body.values.size()) {
  for (size_t i = 0; i < kernel.symbols.size(); ++i) symbols_.emplace_back(symbol_name(i));
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Argument& argument = kernel.inputs[i];
    const size_t rank = argument.shape.size() + (isa().is_offloaded() ? 1 : 0);
    Halide::ImageParam param(storage_type(argument.dtype), static_cast<int>(rank), fmt::format("v{}", i));
    set_dims(param, argument);
    params_.push_back(param);
    bool boolean = argument.dtype == DType::boolean;
    operand(kernel.body.inputs[i]) = {argument.shape, [=, this](Exprs at) -> Expr {
                                        if (isa().is_offloaded()) at.push_back(place_of(param));
                                        return boolean ? param(at) != 0 : param(at);
                                      }};
  }
  for (size_t v = 0; v < kernel.body.values.size(); ++v)
    if (const auto& constant = kernel.body.values[v].constant)
      operands_[v] = {to_symbolic(constant->shape()),
                      [expr = scalar_expr(*constant)](const Exprs&) { return expr; }};
  compute_prologue();
}

void KernelBuilder::compute_prologue() {
  if (kernel_.form != Form::contraction) return;
  for (size_t n = 0; n < static_cast<size_t>(index(kernel_.anchor)); ++n) {
    const Node& node = kernel_.body.nodes[n];
    operand(node.outputs[0]) = {sizes(node.outputs[0]), [this, &node](const Exprs& at) {
                                  Exprs inputs;
                                  for (ValueId input : node.inputs) inputs.push_back(broadcast_at(input, at));
                                  return build_elementwise(isa(), node, inputs, type(node.outputs[0]));
                                }};
  }
}

Expr KernelBuilder::size(const Dim& size, Halide::Type type) const {
  std::vector<Expr> stack;
  for (const SizePart& part : size.postfix()) {
    if (part.kind == SizePart::Kind::number) {
      stack.push_back(Halide::Internal::make_const(type, part.number));
      continue;
    }
    if (part.kind == SizePart::Kind::symbol) {
      const auto symbol = std::ranges::find(symbols_, part.symbol, &Halide::Param<int>::name);
      INTARSIA_CHECK(symbol != symbols_.end());
      stack.push_back(Halide::cast(type, *symbol));
      continue;
    }
    const Expr b = stack.back();
    stack.pop_back();
    stack.back() = combine(part.kind, stack.back(), b);
  }
  return stack.back();
}

Halide::Type KernelBuilder::type(ValueId value) const {
  return expr_type(kernel_.body.value(value).type.dtype);
}

int KernelBuilder::lanes() const {
  int bytes = 1;
  for (const Value& value : kernel_.body.values) bytes = std::max(bytes, dtype_bits(value.type.dtype) / 8);
  return isa().lanes(bytes);
}

Halide::Parameter KernelBuilder::buffer(ValueId input) const {
  const auto at = std::ranges::find(kernel_.body.inputs, input);
  INTARSIA_CHECK(at != kernel_.body.inputs.end());
  return params_[static_cast<size_t>(at - kernel_.body.inputs.begin())].parameter();
}

Expr KernelBuilder::broadcast_at(ValueId value, const Exprs& index) {
  const Operand& from = operand(value);
  Exprs at;
  size_t skipped = index.size() - from.shape.size();
  for (size_t i = 0; i < from.shape.size(); ++i)
    at.push_back(from.shape[i] == 1 ? Expr(0) : index[i + skipped]);
  return from.at(at);
}

Expr KernelBuilder::result_at(const Exprs& at, Expr anchor_value) {
  return value_after(kernel_.anchor, std::move(anchor_value), kernel_.body.outputs[0], at);
}

Expr KernelBuilder::value_after(NodeId from, Expr from_value, ValueId wanted, const Exprs& at) {
  std::vector<Expr> values(kernel_.body.values.size());
  size_t next = 0;
  if (from != no_node) {
    values[index(kernel_.body.node(from).outputs[0])] = std::move(from_value);
    next = static_cast<size_t>(index(from)) + 1;
  }
  for (; !values[index(wanted)].defined(); ++next) {
    const Node& node = kernel_.body.nodes[next];
    Exprs inputs;
    for (ValueId input : node.inputs)
      inputs.push_back(values[index(input)].defined() ? values[index(input)] : broadcast_at(input, at));
    values[index(node.outputs[0])] = build_elementwise(isa(), node, inputs, type(node.outputs[0]));
  }
  return values[index(wanted)];
}

Expr KernelBuilder::matrix_at(ValueId value, const Exprs& at) {
  const Operand& from = operand(value);
  const size_t rank = from.shape.size(), skipped = at.size() - rank;
  Exprs used;
  // Broadcasting is for batch axes only: the variable of a reduction must stay, also where it has one value.
  for (size_t i = 0; i < rank; ++i)
    used.push_back(i + 2 < rank && from.shape[i] == 1 ? Expr(0) : at[i + skipped]);
  return from.at(used);
}

void KernelBuilder::set_dims(Halide::OutputImageParam param, const Argument& argument) const {
  const size_t rank = argument.shape.size();
  for (size_t i = 0; i < rank; ++i) {
    const bool is_free = isa().is_offloaded() && becomes_wide(argument.strides[i]);
    param.dim(static_cast<int>(i))
        .set_bounds(0, size(argument.shape[i]))
        .set_stride(is_free ? Expr() : size(argument.strides[i]));
  }
  if (isa().is_offloaded()) param.dim(static_cast<int>(rank)).set_min(0).set_stride(1);
}

std::vector<Var> KernelBuilder::output_vars(std::vector<Var> vars) const {
  if (isa().is_offloaded()) vars.push_back(place_);
  return vars;
}

BuiltKernel KernelBuilder::finish(Func output, const Argument& argument) {
  set_dims(output.output_buffer(), argument);
  if (isa().is_offloaded()) output.bound(place_, place_of(output.output_buffer()), 1);
  BuiltKernel built{output, {}, argument};
  built.arguments.assign(params_.begin(), params_.end());
  built.arguments.insert(built.arguments.end(), symbols_.begin(), symbols_.end());
  return built;
}

BuiltKernel build_kernel(const Kernel& kernel, OuterLoops outer_loops) {
  KernelBuilder builder(kernel, outer_loops);
  switch (kernel.form) {
    case Form::contraction:
      return build_by_schedule(builder);
    case Form::window:
      return build_window(builder);
    case Form::reduction:
      return build_reduction(builder);
    case Form::scan:
      return build_scan(builder);
    case Form::scatter:
      return op_of(builder.anchor()) == CoreOp::fold ? build_fold(builder) : build_scatter(builder);
    case Form::routine:
      return build_routine(builder);
    case Form::attention:
      return build_attention(builder);
    case Form::recurrence:
      return build_recurrence(builder);
    case Form::movement:
      return samples_in_tiles(builder) ? build_samples(builder) : build_pointwise(builder);
    case Form::elementwise:
      return build_pointwise(builder);
    case Form::view:  // views that move elements are kernels of movement
    case Form::concat:
      break;
  }
  INTARSIA_CHECK(false);
  return {};
}

}  // namespace intarsia::halide
