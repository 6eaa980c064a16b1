#include "cli/inputs/input_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cli/system/files.h"
#include "cli/text/print.h"

namespace {

/// Returns the suffix in lower case: ".jpg" for "CAT.JPG".
std::string lower_suffix(const std::string& file) {
  std::string suffix = std::filesystem::path(file).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix;
}

bool holds_raw_bytes(const std::string& file) {
  const std::string suffix = lower_suffix(file);
  return suffix == ".raw" || suffix == ".bin";
}

/// Reads raw bytes with the input's type and shape; one open size follows from the number of bytes.
Array read_raw(const std::string& file, const intarsia::Argument& input) {
  const int bits = dtype_bits(input.dtype);
  const auto open =
      std::count_if(input.shape.begin(), input.shape.end(), [](int64_t size) { return size < 0; });
  const std::string type = print_type(dtype_name(input.dtype), input.shape);
  if (bits == 0 || !input.rank_known || open > 1)
    throw intarsia::Error(
        fmt::format("{}: raw bytes do not say the shape of input '{}'; give it as .npy", file, input.name));
  Array array{input.dtype, input.shape, read_file(file), {}, {}};
  std::vector<int64_t> known = input.shape;
  const auto axis = std::find_if(known.begin(), known.end(), [](int64_t size) { return size < 0; });
  if (axis != known.end()) *axis = 1;
  const int64_t wanted = (count_elements(known) * bits + 7) / 8;
  const auto got = static_cast<int64_t>(array.bytes.size());
  const bool fits = open == 0 ? got == wanted : wanted > 0 && got % wanted == 0;
  if (!fits)
    throw intarsia::Error(fmt::format("{}: holds {} bytes, but input '{}' is {}: want {}{} bytes", file, got,
                                      input.name, type, open == 0 ? "" : "a multiple of ", wanted));
  if (open == 1) array.shape[static_cast<size_t>(axis - known.begin())] = got / wanted;
  return array;
}

Array read_member(const InputSource& source, const intarsia::Argument& input) {
  const std::vector<std::string> members = list_npz(source.file);
  const bool has_name = std::find(members.begin(), members.end(), input.name) != members.end();
  std::string member = source.member;
  if (member.empty() && has_name) member = input.name;
  if (member.empty() && members.size() == 1) member = members[0];
  if (std::find(members.begin(), members.end(), member) == members.end())
    throw intarsia::Error(fmt::format("{}: has no array '{}'; there are: {}; name one as FILE.npz:ARRAY",
                                      source.file, member.empty() ? input.name : member,
                                      fmt::join(members, ", ")));
  return parse_npy(read_npz_member(source.file, member), source.file + ":" + member, input.dtype);
}

}  // namespace

const std::vector<std::string>& input_suffixes() {
  static const std::vector<std::string> suffixes{".npy", ".npz", ".png", ".jpg", ".jpeg", ".raw", ".bin"};
  return suffixes;
}

bool may_be_input(const std::string& file) {
  const std::vector<std::string>& all = input_suffixes();
  return std::find(all.begin(), all.end(), lower_suffix(file)) != all.end();
}

InputSource parse_source(const std::string& text) {
  const std::string suffix = ".npz:";
  const size_t at = text.rfind(suffix);
  if (at == std::string::npos) return {text, {}};
  return {text.substr(0, at + suffix.size() - 1), text.substr(at + suffix.size())};
}

Array read_input(const InputSource& source, const intarsia::Argument& input, const PictureOptions& options,
                 std::string& conversion) {
  if (is_npz(source.file)) return read_member(source, input);
  if (holds_raw_bytes(source.file)) return read_raw(source.file, input);
  if (is_picture(source.file)) return read_picture_tensor(source.file, input, options, conversion);
  return read_npy(source.file, input.dtype);
}
