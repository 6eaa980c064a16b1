// Operators whose elements come from places that other inputs name.
#include <array>

#include "backends/halide/canonicalize/canonicalize_rules.h"

namespace intarsia::halide {
namespace {

/// Keeps the operator and turns `axis` into 0 ... rank - 1.
Status keep_axis(Rewriter& r) {
  int64_t axis = TRY(r.axis(r.attributes().get_int("axis", 0), r.rank(r.in(0))));
  r.set_output(0, r.emit(r.node().op, {r.in(0), r.in(1)}, r.out_dtype(), r.out_shape(),
                         make_attributes({{"axis", axis}})));
  return {};
}

Status gather_nd(Rewriter& r) {
  Attributes attributes = make_attributes({{"batch_dims", r.attributes().get_int("batch_dims", 0)}});
  r.set_output(0, r.emit("GatherND", {r.in(0), r.in(1)}, r.out_dtype(), r.out_shape(), attributes));
  return {};
}

Status trilu(Rewriter& r) {
  std::vector<int64_t> k = TRY(r.ints("", 1, {0}));
  if (k.size() != 1) return fail("Trilu wants one k, got {}", k.size());
  int64_t limit = r.out_shape().back() + r.out_shape()[r.out_shape().size() - 2];
  Attributes attributes = make_attributes(
      {{"k", std::clamp(k[0], -limit, limit)}, {"upper", r.attributes().get_int("upper", 1)}});
  r.set_output(0, r.emit("Trilu", {r.in(0)}, r.out_dtype(), r.out_shape(), attributes));
  return {};
}

Status one_hot(Rewriter& r) {
  int64_t axis = TRY(r.axis(r.attributes().get_int("axis", -1), static_cast<int64_t>(r.out_shape().size())));
  DType indices = r.dtype(r.in(0));
  if (!is_integer(indices)) return fail("OneHot with {} indices is not supported", dtype_name(indices));
  r.set_output(0, r.emit("OneHot", {r.in(0), r.in(2)}, r.out_dtype(), r.out_shape(),
                         make_attributes({{"axis", axis}})));
  return {};
}

Status reverse_sequence(Rewriter& r) {
  Attributes attributes = make_attributes({{"batch_axis", r.attributes().get_int("batch_axis", 1)},
                                           {"time_axis", r.attributes().get_int("time_axis", 0)}});
  r.set_output(0, r.emit("ReverseSequence", {r.in(0), r.in(1)}, r.out_dtype(), r.out_shape(), attributes));
  return {};
}

constexpr std::array indexing_rule_list = std::to_array<RuleEntry>({
    {"Gather", keep_axis},
    {"GatherElements", keep_axis},
    {"GatherND", gather_nd},
    {"Trilu", trilu},
    {"OneHot", one_hot},
    {"ReverseSequence", reverse_sequence},
});

}  // namespace

std::span<const RuleEntry> indexing_rules() { return indexing_rule_list; }

}  // namespace intarsia::halide
