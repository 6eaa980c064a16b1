#include <algorithm>

#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

Status regex_full_match(ShapeContext& context) {
  context.set_output(0, DType::boolean, input_shape(context, 0));
  return {};
}

Status string_split(ShapeContext& context) {
  OptionalShape parts = input_shape(context, 0);
  context.set_output(1, DType::i64, parts);
  if (parts) parts->push_back(Dim::unknown());
  context.set_output(0, DType::string, parts);
  return {};
}

Status string_normalizer(ShapeContext& context) {
  TRY(require_rank(context, 0, 1, 2));
  OptionalShape result = input_shape(context, 0);
  if (result) result->back() = Dim::unknown();
  context.set_output(0, DType::string, result);
  return {};
}

Status tfidf_vectorizer(ShapeContext& context) {
  TRY(require_rank(context, 0, 1, 2));
  const std::vector<int64_t> columns = context.attributes().get_ints("ngram_indexes");
  OptionalShape result = input_shape(context, 0);
  if (result && !columns.empty()) {
    const int64_t last = std::ranges::max(columns);
    if (last < 0 || last > (1 << 30)) return fail("ngram index {}", last);
    result->back() = Dim(last + 1);
  }
  context.set_output(0, DType::f32, columns.empty() ? std::nullopt : result);
  return {};
}

constexpr OpInfo text_rows[] = {
    {"RegexFullMatch", "", 1, 1, 1, 1, regex_full_match, true},
    {"StringConcat", "", 2, 2, 1, 1, broadcast_inputs, true},
    {"StringNormalizer", "", 1, 1, 1, 1, string_normalizer},
    {"StringSplit", "", 1, 1, 2, 2, string_split},
    {"TfIdfVectorizer", "", 1, 1, 1, 1, tfidf_vectorizer},
};

}  // namespace

std::span<const OpInfo> text_ops() { return text_rows; }

}  // namespace intarsia
