// Operators that choose elements by their values.
#include <algorithm>
#include <array>

#include "backends/halide/canonicalize/canonicalize_rules.h"

namespace intarsia::halide {
namespace {

/// Finds the places of the chosen elements along the last axis, and gathers the elements from there.
Status top_k(Rewriter& r) {
  const ValueId x = r.in(0);
  if (r.dtype(x) == DType::boolean) return fail("TopK of bool");
  const int64_t axis = TRY(r.axis(r.attributes().get_int("axis", -1), r.rank(x)));
  const auto along = static_cast<size_t>(axis);
  SymbolicShape sizes = r.out_sizes(has_output(r.node(), 0) ? 0 : 1);
  TRY(r.require(r.sizes(x)[along] - sizes[along], fmt::format("k is {}", sizes[along].print())));
  std::vector<int64_t> swap(sizes.size());  // the axis and the last one change places
  for (size_t i = 0; i < swap.size(); ++i) swap[i] = static_cast<int64_t>(i);
  std::swap(swap[along], swap.back());
  SymbolicShape swapped = sizes;
  std::swap(swapped[along], swapped.back());
  const TopKAttributes attributes{r.attributes().get_int("largest", 1) != 0};
  const ValueId places = r.transpose(
      r.emit(CoreOp::top_k, {r.transpose(x, swap)}, DType::i64, std::move(swapped), attributes), swap);
  if (has_output(r.node(), 0))
    r.set_output(0, r.emit(CoreOp::gather_elements, {r.stored_in(0), places}, r.dtype(r.stored_in(0)), sizes,
                           AxisAttributes{axis}));
  if (has_output(r.node(), 1)) r.set_output(1, places);
  return {};
}

constexpr std::array selection_rule_list = std::to_array<RuleEntry>({
    {"TopK", top_k},
});

}  // namespace

std::span<const RuleEntry> selection_rules() { return selection_rule_list; }

}  // namespace intarsia::halide
