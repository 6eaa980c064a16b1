// Operators whose elements come from places that other inputs name.
#include <array>

#include "backends/halide/canonicalize/canonicalize_rules.h"

namespace intarsia::halide {
namespace {

Status require_indices(const Rewriter& r) {
  const DType dtype = r.dtype(r.in(1));
  if (dtype == DType::i32 || dtype == DType::i64) return {};
  return fail("halide: {} wants i32 or i64 as input 1, got {}", r.node().op, dtype_name(dtype));
}

/// Keeps the operator with its `axis` normalized to 0 ... rank - 1.
Status keep_axis(Rewriter& r, CoreOp op) {
  TRY(require_indices(r));
  int64_t axis = TRY(r.axis(r.attributes().get_int("axis", 0), r.rank(r.in(0))));
  r.set_output(0, r.emit(op, {r.in(0), r.in(1)}, r.out_dtype(), r.out_sizes(), AxisAttributes{axis}));
  return {};
}

Status gather(Rewriter& r) { return keep_axis(r, CoreOp::gather); }
Status gather_elements(Rewriter& r) { return keep_axis(r, CoreOp::gather_elements); }

Status gather_nd(Rewriter& r) {
  TRY(require_indices(r));
  if (!r.sizes(r.in(1)).back().is_number()) return fail("GatherND with tuples of an open size");
  const GatherNdAttributes attributes{r.attributes().get_int("batch_dims", 0)};
  r.set_output(0, r.emit(CoreOp::gather_nd, {r.in(0), r.in(1)}, r.out_dtype(), r.out_sizes(), attributes));
  return {};
}

Status trilu(Rewriter& r) {
  std::vector<int64_t> k = TRY(r.ints("", 1, {0}));
  if (k.size() != 1) return fail("Trilu wants one k, got {}", k.size());
  const SymbolicShape& out = r.out_sizes();
  const Dim both = out.back() + out[out.size() - 2];
  const int64_t limit = both.is_number() ? both.number() : max_elements;
  const TriluAttributes attributes{std::clamp(k[0], -limit, limit), r.attributes().get_int("upper", 1) != 0};
  r.set_output(0, r.emit(CoreOp::trilu, {r.in(0)}, r.out_dtype(), r.out_sizes(), attributes));
  return {};
}

Status one_hot(Rewriter& r) {
  int64_t axis = TRY(r.axis(r.attributes().get_int("axis", -1), static_cast<int64_t>(r.out_sizes().size())));
  DType indices = r.dtype(r.in(0));
  if (!is_integer(indices)) return fail("OneHot with {} indices is not supported", dtype_name(indices));
  r.set_output(
      0, r.emit(CoreOp::one_hot, {r.in(0), r.in(2)}, r.out_dtype(), r.out_sizes(), AxisAttributes{axis}));
  return {};
}

Status reverse_sequence(Rewriter& r) {
  TRY(require_indices(r));
  const ReverseSequenceAttributes attributes{r.attributes().get_int("batch_axis", 1),
                                             r.attributes().get_int("time_axis", 0)};
  r.set_output(
      0, r.emit(CoreOp::reverse_sequence, {r.in(0), r.in(1)}, r.out_dtype(), r.out_sizes(), attributes));
  return {};
}

/// Keeps a cache with updates from a place of its own for each item of the batch.
Status tensor_scatter(Rewriter& r) {
  const int64_t axis = TRY(r.axis(r.attributes().get_int("axis", -2), r.rank(r.in(0))));
  const std::string mode = r.attributes().get_string("mode", "linear");
  const SymbolicShape &cache = r.sizes(r.in(0)), &updates = r.sizes(r.in(1));
  if (axis == 0 || (mode != "linear" && mode != "circular") || updates.size() != cache.size())
    return fail("TensorScatter along axis {} in mode '{}' of {}", axis, mode, print_shape(updates));
  for (size_t i = 0; i < cache.size(); ++i)
    if (static_cast<int64_t>(i) != axis && !provably_equal(cache[i], updates[i]))
      return fail("TensorScatter of {} in {}", print_shape(updates), print_shape(cache));
  const auto along = static_cast<size_t>(axis);
  TRY(r.require(cache[along] - updates[along], "more updates than places"));
  ValueId first = r.has_input(2) ? r.in(2) : no_value;
  if (first == no_value) {
    first = r.emit(CoreOp::expand, {r.reshape(r.add_scalar(0, DType::i64), {1})}, DType::i64, {cache[0]});
  } else if (r.dtype(first) != DType::i64 || r.sizes(first) != SymbolicShape{cache[0]}) {
    return fail("TensorScatter wants i64 [{}] as input 2", cache[0].print());
  }
  const TensorScatterAttributes attributes{axis, mode == "circular"};
  r.set_output(
      0, r.emit(CoreOp::tensor_scatter, {r.in(0), r.in(1), first}, r.out_dtype(), r.out_sizes(), attributes));
  return {};
}

constexpr std::array indexing_rule_list = std::to_array<RuleEntry>({
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Trilu", trilu},
    {"OneHot", one_hot},
    {"ReverseSequence", reverse_sequence},
    {"TensorScatter", tensor_scatter},
});

}  // namespace

std::span<const RuleEntry> indexing_rules() { return indexing_rule_list; }

}  // namespace intarsia::halide
