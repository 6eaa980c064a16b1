// Einsum as products of matrices: diagonals are taken and axes that only one factor has are summed first;
// then the factors are multiplied from the first on.
#include <algorithm>
#include <array>
#include <map>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/half_floats.h"
#include "base/einsum_equation.h"

namespace intarsia::halide {
namespace {

/// Value whose axes have labels.
struct Factor {
  ValueId value = no_value;
  EinsumLabels labels;
};

bool has_label(const EinsumLabels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}

EinsumLabels joined(EinsumLabels first, const EinsumLabels& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class EinsumRewriter {
 public:
  EinsumRewriter(Rewriter& r, EinsumEquation equation) : r_(r), equation_(std::move(equation)) {}

  Status rewrite() {
    TRY(read_sizes());
    std::vector<Factor> factors;
    for (size_t i = 0; i < equation_.terms.size(); ++i)
      factors.push_back(TRY(without_diagonals({r_.stored_in(i), equation_.terms[i]})));
    Factor made = factors.at(0);
    for (size_t i = 1; i < factors.size(); ++i) {
      EinsumLabels needed = equation_.result;
      for (size_t later = i + 1; later < factors.size(); ++later)
        for (int label : factors[later].labels)
          if (!has_label(needed, label)) needed.push_back(label);
      made = TRY(multiplied(summed(made, joined(needed, factors[i].labels)),
                            summed(factors[i], joined(needed, made.labels)), needed));
    }
    made = summed(made, equation_.result);
    r_.set_output(0, ordered(made, equation_.result).value);
    return {};
  }

 private:
  /// Reads the size of each label, which must be one.
  Status read_sizes() {
    for (size_t i = 0; i < equation_.terms.size(); ++i)
      for (size_t axis = 0; axis < equation_.terms[i].size(); ++axis) {
        const int label = equation_.terms[i][axis];
        const Dim& size = r_.sizes(r_.stored_in(i))[axis];
        if (!provably_equal(sizes_.try_emplace(label, size).first->second, size))
          return fail("Einsum of axes of sizes {} and {}", sizes_.at(label).print(), size.print());
      }
    return {};
  }

  SymbolicShape sizes_of(const EinsumLabels& labels) const {
    SymbolicShape sizes;
    for (int label : labels) sizes.push_back(sizes_.at(label));
    return sizes;
  }

  /// Makes one axis of two with the same label: their diagonal lies size + 1 elements apart where they are
  /// joined.
  Result<Factor> without_diagonals(Factor factor) {
    for (size_t first = 0; first < factor.labels.size(); ++first) {
      const int label = factor.labels[first];
      const auto second =
          std::find(factor.labels.begin() + static_cast<ptrdiff_t>(first) + 1, factor.labels.end(), label);
      if (second == factor.labels.end()) continue;
      const Dim& size = sizes_.at(label);
      if (!size.is_number()) return fail("Einsum of a diagonal of open size");
      const auto last = static_cast<size_t>(second - factor.labels.begin());
      std::vector<int64_t> order;
      for (size_t axis = 0; axis < factor.labels.size(); ++axis)
        if (axis != first && axis != last) order.push_back(static_cast<int64_t>(axis));
      Factor made;
      for (int64_t axis : order) made.labels.push_back(factor.labels[static_cast<size_t>(axis)]);
      order.insert(order.end(), {static_cast<int64_t>(first), static_cast<int64_t>(last)});
      SymbolicShape square = sizes_of(made.labels);
      const SymbolicShape starts(square.size() + 1, 0);
      std::vector<int64_t> steps(square.size(), 1);
      square.push_back(size * size);
      steps.push_back(size.number() + 1);
      made.labels.push_back(label);
      const ValueId flat = r_.reshape(r_.transpose(factor.value, order), square);
      made.value = slice(r_, flat, starts, steps, sizes_of(made.labels));
      return without_diagonals(std::move(made));
    }
    return factor;
  }

  /// Sums over the axes that nothing else needs.
  Factor summed(const Factor& factor, const EinsumLabels& needed) {
    Factor made;
    std::vector<int64_t> axes;
    SymbolicShape reduced = sizes_of(factor.labels);
    for (size_t axis = 0; axis < factor.labels.size(); ++axis) {
      if (has_label(needed, factor.labels[axis])) {
        made.labels.push_back(factor.labels[axis]);
      } else {
        axes.push_back(static_cast<int64_t>(axis));
        reduced[axis] = 1;
      }
    }
    if (axes.empty()) return factor;
    const ValueId wide = as_sums(factor.value);
    const ValueId sums =
        r_.emit(CoreOp::reduce_sum, {wide}, r_.dtype(wide), reduced, ReductionAttributes{.axes = axes});
    made.value = r_.reshape(sums, sizes_of(made.labels));
    return made;
  }

  ValueId as_sums(ValueId value) { return r_.converted(value, compute_dtype(r_.dtype(value))); }

  /// Multiplies two factors, each of whose axes the other one has or something else needs. Axes are in both
  /// and needed (batch), in one (rows, columns), or in both only (inner).
  ///   abc,cde->abde: [a,b,c] as [a*b,c], [c,d,e] as [c,d*e], their product [a*b,d*e] as [a,b,d,e]
  Result<Factor> multiplied(Factor a, Factor b, const EinsumLabels& needed) {
    const auto is_of_b_alone = [&](int label) {
      return has_label(b.labels, label) && !has_label(a.labels, label);
    };
    if (std::ranges::any_of(needed, is_of_b_alone) && !has_label(b.labels, needed.back()))
      std::swap(a, b);  // what comes last in the result are its columns
    if (r_.dtype(a.value) != r_.dtype(b.value)) a.value = as_sums(a.value), b.value = as_sums(b.value);
    EinsumLabels batch, rows, inner, columns;
    for (int label : needed) {
      const bool in_a = has_label(a.labels, label), in_b = has_label(b.labels, label);
      if (in_a || in_b) (in_a && in_b ? batch : in_a ? rows : columns).push_back(label);
    }
    for (int label : a.labels)
      if (!has_label(needed, label)) inner.push_back(label);
    const EinsumLabels made = joined(joined(batch, rows), columns);
    const ValueId product = TRY(matrix_product(r_, as_matrices(a, batch, rows, inner),
                                               as_matrices(b, batch, inner, columns), sizes_of(made)));
    return Factor{product, made};
  }

  /// Makes one axis each of the rows and of the columns: [batch..., rows, columns].
  ValueId as_matrices(const Factor& factor, const EinsumLabels& batch, const EinsumLabels& rows,
                      const EinsumLabels& columns) {
    const Factor in_order = ordered(factor, joined(joined(batch, rows), columns));
    SymbolicShape to = sizes_of(batch);
    for (const EinsumLabels* axes : {&rows, &columns}) {
      const SymbolicShape sizes = sizes_of(*axes);
      to.push_back(product_of_dims(sizes, 0, sizes.size()));
    }
    return r_.reshape(in_order.value, to);
  }

  /// Moves axes into another order; those of constants now, as axes that are joined then may be apart in
  /// memory.
  Factor ordered(const Factor& factor, const EinsumLabels& to) {
    std::vector<int64_t> order;
    for (int label : to) order.push_back(std::ranges::find(factor.labels, label) - factor.labels.begin());
    return {r_.transpose_constant(factor.value, order), to};
  }

  Rewriter& r_;
  const EinsumEquation equation_;
  std::map<int, Dim> sizes_;  // by label
};

Status einsum(Rewriter& r) {
  TRY(require_floats(r));
  std::vector<size_t> ranks;
  for (size_t i = 0; i < r.node().inputs.size(); ++i)
    ranks.push_back(static_cast<size_t>(r.rank(r.stored_in(i))));
  if (ranks.empty()) return fail("Einsum of nothing");
  return EinsumRewriter(r, TRY(parse_einsum(r.attributes().get_string("equation", ""), ranks))).rewrite();
}

constexpr std::array einsum_rule_list = std::to_array<RuleEntry>({{"Einsum", einsum}});

}  // namespace

std::span<const RuleEntry> einsum_rules() { return einsum_rule_list; }

}  // namespace intarsia::halide
