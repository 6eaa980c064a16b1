#include "runtime/bind_sizes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "program/open_sizes.h"

namespace intarsia {

SizeBinder::SizeBinder(const fbs::FunctionT& function)
    : function_(function), sizes_(function.symbols.size(), unknown), told_by_(function.symbols.size()) {
  for (const auto& symbol : function.symbols) names_.push_back(symbol->name);
}

void SizeBinder::start() { std::ranges::fill(sizes_, unknown); }

Status SizeBinder::tell(const fbs::ValueT& input, const Shape& shape) {
  for (size_t axis = 0; axis < input.sizes.size(); ++axis) {
    if (input.sizes[axis] == 0) continue;
    const std::optional<uint32_t> number = symbol_of(*function_.sizes[input.sizes[axis] - 1]);
    if (!number || sizes_[*number] != unknown) continue;
    const fbs::SymbolT& symbol = *function_.symbols[*number];
    const int64_t size = shape[axis];
    if (size < static_cast<int64_t>(symbol.min) || size > static_cast<int64_t>(symbol.max))
      return fail(
          "input '{}' has shape {}, where '{}' is {}, want {} to {}: compile the model again for another "
          "range (--shape)",
          input.name, print_shape(shape), symbol.name, size, symbol.min, symbol.max);
    sizes_[*number] = size;
    told_by_[*number] = &input;
  }
  return {};
}

Status SizeBinder::check(std::string_view what, const fbs::ValueT& value, const Shape& shape) const {
  for (size_t axis = 0; axis < value.sizes.size(); ++axis) {
    if (value.sizes[axis] == 0) continue;
    const int64_t want = TRY(compute(what, value, axis));
    if (shape[axis] == want) continue;
    return fail("{} '{}' has shape {}, want size {} on axis {}: it is {}, with {}", what, value.name,
                print_shape(shape), want, axis, text_of_size(function_, value, axis), print_sizes());
  }
  return {};
}

Result<int64_t> SizeBinder::compute(std::string_view what, const fbs::ValueT& value, size_t axis) const {
  Result<int64_t> size = evaluate_size(*function_.sizes[value.sizes[axis] - 1], sizes_);
  if (size) return size;
  return with_context(std::move(size), "{} '{}', with {}", what, value.name, print_sizes());
}

std::string SizeBinder::print_sizes() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < sizes_.size(); ++i)
    texts.push_back(
        fmt::format("{} = {} (input '{}')", function_.symbols[i]->name, sizes_[i], told_by_[i]->name));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace intarsia
