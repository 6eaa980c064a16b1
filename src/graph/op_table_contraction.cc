#include <algorithm>
#include <map>

#include "base/einsum_equation.h"
#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

/// Infers MatMul. Vectors are a row on the left and a column on the right; that axis is dropped from the
/// result.
Status matmul(ShapeContext& context) {
  TRY(require_rank(context, 0, 1));
  TRY(require_rank(context, 1, 1));
  const SymbolicShape* a = context.shape(0);
  const SymbolicShape* b = context.shape(1);
  if (a == nullptr || b == nullptr) return set_shape(context, std::nullopt);
  const Dim& depth = b->size() == 1 ? (*b)[0] : (*b)[b->size() - 2];
  TRY(require_same_dim(a->back(), depth, "inner sizes"));
  const SymbolicShape left(a->begin(), a->end() - std::min<int64_t>(2, static_cast<int64_t>(a->size())));
  const SymbolicShape right(b->begin(), b->end() - std::min<int64_t>(2, static_cast<int64_t>(b->size())));
  SymbolicShape result = TRY(broadcast_symbolic(left, right));
  if (a->size() > 1) result.push_back((*a)[a->size() - 2]);
  if (b->size() > 1) result.push_back(b->back());
  return set_shape(context, result);
}

/// Checks that the bias of a Gemm broadcasts to its result.
Status check_bias(const SymbolicShape& bias, const SymbolicShape& result) {
  const auto fits = [&](size_t i) {
    const Dim &size = bias[bias.size() - 1 - i], &wanted = result[result.size() - 1 - i];
    return size == 1 || !size.is_number() || !wanted.is_number() || size == wanted;
  };
  bool is_right = bias.size() <= result.size();
  for (size_t i = 0; is_right && i < bias.size(); ++i) is_right = fits(i);
  if (is_right) return {};
  return fail("the bias {} does not broadcast to the result {}; want each size 1 or that of the result",
              print_shape(bias), print_shape(result));
}

Status gemm(ShapeContext& context) {
  TRY(require_rank(context, 0, 2, 2));
  TRY(require_rank(context, 1, 2, 2));
  const bool turn_a = context.attributes().get_int("transA", 0) != 0;
  const bool turn_b = context.attributes().get_int("transB", 0) != 0;
  const SymbolicShape* a = context.shape(0);
  const SymbolicShape* b = context.shape(1);
  if (a != nullptr && b != nullptr) {
    TRY(require_same_dim((*a)[turn_a ? 0 : 1], (*b)[turn_b ? 1 : 0], "inner sizes"));
  }
  const SymbolicShape result{a ? (*a)[turn_a ? 1 : 0] : Dim::unknown(),
                             b ? (*b)[turn_b ? 0 : 1] : Dim::unknown()};
  if (const SymbolicShape* bias = context.shape(2)) TRY(check_bias(*bias, result));
  return set_shape(context, result);
}

Status det(ShapeContext& context) {
  TRY(require_rank(context, 0, 2));
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, std::nullopt);
  TRY(require_same_dim((*x)[x->size() - 1], (*x)[x->size() - 2], "rows and columns"));
  return set_shape(context, SymbolicShape(x->begin(), x->end() - 2));
}

Status einsum(ShapeContext& context) {
  std::vector<size_t> ranks;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.shape(i) == nullptr) return set_shape(context, std::nullopt);
    ranks.push_back(context.shape(i)->size());
  }
  const EinsumEquation equation = TRY(parse_einsum(context.attributes().get_string("equation", ""), ranks));
  std::map<int, Dim> sizes;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t k = 0; k < ranks[i]; ++k) {
      Dim& size = sizes.try_emplace(equation.terms[i][k], 1).first->second;
      size = TRY(broadcast_dim(size, (*context.shape(i))[k]));
    }
  }
  SymbolicShape result;
  for (int label : equation.result) result.push_back(sizes.at(label));
  return set_shape(context, result);
}

constexpr OpInfo contraction_rows[] = {
    work({"Det", "", 1, 1, 1, 1, det}),
    work({"Einsum", "", 1, -1, 1, 1, einsum}),
    work({"Gemm", "", 2, 3, 1, 1, gemm}),
    work({"MatMul", "", 2, 2, 1, 1, matmul}),
};

}  // namespace

std::span<const OpInfo> contraction_ops() { return contraction_rows; }

}  // namespace intarsia
