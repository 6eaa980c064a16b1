#include "inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "commands.h"

namespace {

Array fill(const intarsia::Argument& input, uint64_t seed) {
  const bool known = input.rank_known && std::none_of(input.shape.begin(), input.shape.end(),
                                                      [](int64_t size) { return size < 0; });
  if (input.kind != INTARSIA_TENSOR || !known)
    throw UsageError("input '" + input.name + "' cannot be filled, give it with -i");
  Array array{input.dtype, input.shape, {}, {}, {}};
  const int64_t bits = std::max(dtype_bits(input.dtype), 1);
  int64_t total = 0;
  if (__builtin_mul_overflow(count_elements(input.shape), bits, &total))
    throw intarsia::Error("input '" + input.name + "' is too large");
  array.bytes.resize(static_cast<size_t>(total / 8 + (total % 8 != 0)));
  if (input.index_limit == 1) return array;  // its integers can be 0 alone
  const intarsia::View view = array.view();
  const intarsia_tensor tensor = intarsia::detail::tensor(input.name, view);
  intarsia::detail::check(intarsia_tensor_fill(&tensor, seed));
  return array;
}

}  // namespace

InputValues::InputValues(const std::vector<intarsia::Argument>& inputs,
                         std::map<std::string, std::string> files)
    : inputs_(inputs) {
  for (const intarsia::Argument& input : inputs_) {
    const auto file = files.find(input.name);
    const bool filled = file == files.end();
    arrays_.push_back(filled ? fill(input, tensors_.size()) : read_npy(file->second, input.dtype));
    views_.push_back(arrays_.back().view());
    tensors_.push_back(intarsia::detail::tensor(input.name, views_.back()));
    if (!filled) files.erase(file);
    Json note{{"name", input.name}};
    note.update(describe_tensor(tensors_.back()));
    note["filled"] = filled;
    notes_.push_back(std::move(note));
  }
  if (files.empty()) return;
  std::vector<std::string> names;
  for (const intarsia::Argument& input : inputs_) names.push_back(input.name);
  throw UsageError(fmt::format("no input '{}'; there are: {}", files.begin()->first, fmt::join(names, ", ")));
}

void add_input_option(CLI::App& command, std::vector<std::string>& texts) {
  command
      .add_option("-i,--input", texts,
                  "An input; those not given are filled: floats at random, integers 0 and 1")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false);
}

std::map<std::string, std::string> parse_input_files(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> files;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      throw UsageError("-i " + text + ": want NAME=FILE.npy");
    if (!files.emplace(text.substr(0, at), text.substr(at + 1)).second)
      throw UsageError("-i " + text + ": input '" + text.substr(0, at) + "' is given twice");
  }
  return files;
}

std::string FileNames::make(const std::string& name) {
  constexpr size_t most = 150;  // leaves room for a suffix within 255, the limit of common file systems
  std::string safe = name.substr(0, most);
  for (char& c : safe) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  if (safe.empty() || safe[0] == '.') safe = "_" + safe;
  const int times = ++used_[safe];
  return times == 1 ? safe : make(safe + "_" + std::to_string(times));
}
