#include <algorithm>
#include <cctype>
#include <map>

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
  return set_shape(context, SymbolicShape{a ? (*a)[turn_a ? 1 : 0] : Dim::unknown(),
                                          b ? (*b)[turn_b ? 0 : 1] : Dim::unknown()});
}

Status det(ShapeContext& context) {
  TRY(require_rank(context, 0, 2));
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, std::nullopt);
  TRY(require_same_dim((*x)[x->size() - 1], (*x)[x->size() - 2], "rows and columns"));
  return set_shape(context, SymbolicShape(x->begin(), x->end() - 2));
}

/// Parses a term into labels; the axes of an ellipsis are -1, -2, ... from the last on.
Result<std::vector<int>> parse_term(std::string_view text, size_t rank) {
  const size_t dots = text.find("...");
  const size_t letters = text.size() - (dots == std::string_view::npos ? 0 : 3);
  if (dots == std::string_view::npos ? letters != rank : letters > rank) {
    return fail("the term '{}' for an input of rank {}", text, rank);
  }
  std::vector<int> labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (size_t k = rank - letters; k > 0; --k) labels.push_back(-static_cast<int>(k));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else {
      return fail("'{}' in the term '{}'", text[i], text);
    }
  }
  return labels;
}

struct LabelUse {
  Dim size = Dim(1);
  int count = 0;
};

Status read_terms(ShapeContext& context, std::string_view left, std::map<int, LabelUse>& labels) {
  for (size_t i = 0; i < context.input_count(); ++i) {
    const size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == context.input_count())) {
      return fail("the equation does not have the {} terms of the inputs", context.input_count());
    }
    const SymbolicShape& shape = *context.shape(i);
    const std::vector<int> term = TRY(parse_term(left.substr(0, comma), shape.size()));
    for (size_t k = 0; k < term.size(); ++k) {
      LabelUse& use = labels[term[k]];
      use.size = TRY(broadcast_dim(use.size, shape[k]));
      ++use.count;
    }
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  return {};
}

Status einsum(ShapeContext& context) {
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.shape(i) == nullptr) return set_shape(context, std::nullopt);
  }
  std::string text = context.attributes().get_string("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::map<int, LabelUse> labels;
  TRY(read_terms(context, std::string_view(text).substr(0, arrow), labels));
  SymbolicShape result;
  if (arrow == std::string::npos) {
    for (const auto& [label, use] : labels) {
      if (label < 0 || use.count == 1) result.push_back(use.size);
    }
    return set_shape(context, result);
  }
  const std::string_view right = std::string_view(text).substr(arrow + 2);
  const auto dots =
      static_cast<size_t>(std::ranges::count_if(labels, [](const auto& entry) { return entry.first < 0; }));
  const bool has_dots = right.find("...") != std::string_view::npos;
  for (int label : TRY(parse_term(right, has_dots ? right.size() - 3 + dots : right.size()))) {
    const auto found = labels.find(label);
    if (found == labels.end()) return fail("'{}': a label of the result is not in any term", text);
    result.push_back(found->second.size);
  }
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
