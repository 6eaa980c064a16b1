#include "backends/reference/kernels/text.h"

#include <algorithm>
#include <set>

#include "backends/reference/kernels/kernel_families.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {

Status require_strings(const KernelContext& context, size_t input) {
  if (!context.has_input(input)) return fail("input {} is missing", input);
  if (context.input(input).dtype == DType::string) return {};
  return fail("input {} has dtype {}, want string", input, dtype_name(context.input(input).dtype));
}

namespace {

Status string_concat(KernelContext& context) {
  TRY(require_strings(context, 0));
  TRY(require_strings(context, 1));
  const ConstTensorView& a = context.input(0);
  const ConstTensorView& b = context.input(1);
  const Shape shape = TRY(broadcast_shapes(a.shape, b.shape));
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, DType::string, shape));
  for_each_offset<2>(shape, {broadcast_strides(a.shape, shape), broadcast_strides(b.shape, shape)},
                     [&](int64_t i, const auto& at) {
                       y.as<std::string>()[static_cast<size_t>(i)] =
                           a.as<std::string>()[static_cast<size_t>(at[0])] +
                           b.as<std::string>()[static_cast<size_t>(at[1])];
                     });
  return {};
}

/// Splits text with at most `most` cuts (-1: any number). An empty delimiter cuts at runs of white space and
/// drops empty parts.
std::vector<std::string> split_text(std::string_view text, const std::string& delimiter, int64_t most) {
  constexpr std::string_view space = " \t\n\v\f\r";
  std::vector<std::string> parts;
  while (true) {
    if (delimiter.empty()) {
      const size_t start = text.find_first_not_of(space);
      if (start == std::string_view::npos) return parts;
      text.remove_prefix(start);
    }
    const bool last = most >= 0 && static_cast<int64_t>(parts.size()) == most;
    const size_t end = delimiter.empty() ? text.find_first_of(space) : text.find(delimiter);
    if (last || end == std::string_view::npos) {
      if (delimiter.empty()) text = text.substr(0, text.find_last_not_of(space) + 1);
      parts.emplace_back(text);
      return parts;
    }
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + std::max<size_t>(1, delimiter.size()));
  }
}

Status string_split(KernelContext& context) {
  TRY(require_strings(context, 0));
  const ConstTensorView& x = context.input(0);
  const std::string delimiter = context.attributes().get_string("delimiter", "");
  const int64_t most = context.attributes().get_int("maxsplit", -1);
  std::vector<std::vector<std::string>> parts;
  size_t longest = 0;
  for (const std::string& text : x.as<std::string>()) {
    parts.push_back(split_text(text, delimiter, most));
    longest = std::max(longest, parts.back().size());
  }
  Shape shape = x.shape;
  shape.push_back(static_cast<int64_t>(longest));
  TRY(checked_elements(shape));
  if (context.wants_output(0)) {
    const TensorView y = TRY(context.output(0, DType::string, shape));
    std::ranges::fill(y.as<std::string>(), std::string());
    for (size_t i = 0; i < parts.size(); ++i) {
      std::ranges::copy(parts[i], y.as<std::string>().begin() + static_cast<int64_t>(i * longest));
    }
  }
  if (context.wants_output(1)) {
    const TensorView counts = TRY(context.output(1, DType::i64, x.shape));
    for (size_t i = 0; i < parts.size(); ++i) counts.as<int64_t>()[i] = static_cast<int64_t>(parts[i].size());
  }
  return {};
}

char change_case(char c, char action) {
  if (action == 'L' && c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (action == 'U' && c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  return c;
}

std::string change_case(std::string text, char action) {
  for (char& c : text) c = change_case(c, action);
  return text;
}

/// Normalizes strings; case changes are ASCII only.
Status string_normalizer(KernelContext& context) {
  TRY(require_strings(context, 0));
  const ConstTensorView& x = context.input(0);
  const size_t rank = x.shape.size();
  if (rank < 1 || rank > 2 || (rank == 2 && x.shape[0] != 1)) {
    return fail("input 0 has shape {}, want C or 1xC", print_shape(x.shape));
  }
  const std::string action = context.attributes().get_string("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    return fail("case_change_action is '{}'", action);
  const bool sensitive = context.attributes().get_int("is_case_sensitive", 0) != 0;
  std::set<std::string> dropped;
  for (const std::string& word : context.attributes().get_strings("stopwords")) {
    dropped.insert(sensitive ? word : change_case(word, 'L'));
  }
  std::vector<std::string> kept;
  for (const std::string& word : x.as<std::string>()) {
    if (!dropped.contains(sensitive ? word : change_case(word, 'L')))
      kept.push_back(change_case(word, action[0]));
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape = x.shape;
  shape.back() = static_cast<int64_t>(kept.size());
  std::ranges::copy(kept, TRY(context.output(0, DType::string, shape)).as<std::string>().begin());
  return {};
}

constexpr KernelEntry text_rows[] = {
    {"StringConcat", "", string_concat},
    {"StringNormalizer", "", string_normalizer},
    {"StringSplit", "", string_split},
    {"TfIdfVectorizer", "", tfidf_vectorizer},
};

}  // namespace

std::span<const KernelEntry> text_kernels() { return text_rows; }

}  // namespace intarsia::reference
