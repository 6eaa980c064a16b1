#include "cli/inputs/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/usage/usage_error.h"

namespace {

Array fill(const intarsia::Argument& input, uint64_t seed) {
  const std::vector<int64_t>& shape = input.tuned_shape;
  const bool known =
      input.rank_known && std::none_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
  if (input.kind != INTARSIA_TENSOR || !known)
    throw UsageError("input '" + input.name + "' cannot be filled, give it with -i");
  Array array{input.dtype, shape, {}, {}, {}};
  const int64_t bits = std::max(dtype_bits(input.dtype), 1);
  int64_t total = 0;
  if (__builtin_mul_overflow(count_elements(shape), bits, &total))
    throw intarsia::Error("input '" + input.name + "' is too large");
  array.bytes.resize(static_cast<size_t>(total / 8 + (total % 8 != 0)));
  if (input.index_limit == 1) return array;  // integers of this input can only be 0
  const intarsia::View view = array.view();
  const intarsia_tensor tensor = intarsia::detail::tensor(input.name, view);
  intarsia::detail::check(intarsia_tensor_fill(&tensor, seed));
  return array;
}

void check_text(const std::string& text) {
  if (text.empty() || text[0] == '=' || text.back() == '=')
    throw UsageError("-i " + text + ": want NAME=FILE");
}

}  // namespace

InputValues::InputValues(const std::vector<intarsia::Argument>& inputs, const InputOptions& options)
    : inputs_(inputs) {
  std::map<std::string, InputSource> sources = parse_inputs(options, inputs_);
  for (const intarsia::Argument& input : inputs_) {
    const auto source = sources.find(input.name);
    const bool filled = source == sources.end();
    std::string conversion;
    arrays_.push_back(filled ? fill(input, tensors_.size())
                             : read_input(source->second, input, options.picture, conversion));
    views_.push_back(arrays_.back().view());
    tensors_.push_back(intarsia::detail::tensor(input.name, views_.back()));
    if (!filled) sources.erase(source);
    Json note{{"name", input.name}};
    note.update(describe_tensor(tensors_.back()));
    note["filled"] = filled;
    note["conversion"] = conversion.empty() ? Json(nullptr) : Json(conversion);
    notes_.push_back(std::move(note));
  }
  if (sources.empty()) return;
  std::vector<std::string> names;
  for (const intarsia::Argument& input : inputs_) names.push_back(input.name);
  throw UsageError(
      fmt::format("no input '{}'; there are: {}", sources.begin()->first, fmt::join(names, ", ")));
}

CLI::Option* add_input_option(CLI::App& command, InputOptions& options) {
  CLI::Option* input = command.add_option(
      "-i,--input", options.texts,
      "An input: .npy, .npz (without NAME: all of its arrays; FILE.npz:MEMBER: that one), .raw "
      "or .bin (bytes of the model's type and shape), PNG or JPEG; NAME may be left out where "
      "there is one input. Those not given are filled: floats at random, integers 0 and 1");
  add_picture_options(command, options.picture);
  return input->type_name("[NAME=]FILE")->allow_extra_args(false);
}

std::vector<std::string> input_files(const InputOptions& options) {
  std::vector<std::string> files;
  for (const std::string& text : options.texts) {
    check_text(text);
    const size_t at = text.rfind('=');
    files.push_back(parse_source(at == std::string::npos ? text : text.substr(at + 1)).file);
  }
  return files;
}

std::map<std::string, InputSource> parse_inputs(const InputOptions& options,
                                                const std::vector<intarsia::Argument>& inputs) {
  std::map<std::string, InputSource> sources;
  const auto add = [&](const std::string& text, const std::string& name, const InputSource& source) {
    if (!sources.emplace(name, source).second)
      throw UsageError("-i " + text + ": input '" + name + "' is given twice");
  };
  for (const std::string& text : options.texts) {
    const size_t at = text.rfind('=');
    check_text(text);
    const InputSource source = parse_source(at == std::string::npos ? text : text.substr(at + 1));
    if (at != std::string::npos) {
      add(text, text.substr(0, at), source);
    } else if (source.member.empty() && is_npz(source.file)) {
      for (const std::string& member : list_npz(source.file)) add(text, member, {source.file, member});
    } else if (inputs.size() == 1) {
      add(text, inputs[0].name, source);
    } else {
      std::vector<std::string> names;
      for (const intarsia::Argument& input : inputs) names.push_back(input.name);
      throw UsageError(fmt::format("-i {}: want NAME=FILE with a NAME of {}", text, fmt::join(names, ", ")));
    }
  }
  return sources;
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
