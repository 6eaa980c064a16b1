#include "backends/plugin/plugin_blob.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"

namespace intarsia::plugin {
namespace {

constexpr std::string_view magic = "intarsia plug-in 2";
constexpr size_t alignment = 64;

/// Takes the next line off `text` and returns it without its end. Error: there is none.
Result<std::string_view> take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return fail("the blob of the plug-in is damaged");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

Result<uint64_t> take_number(std::string_view& text) {
  const std::string_view line = TRY(take_line(text));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size())
    return fail("the blob of the plug-in is damaged");
  return number;
}

}  // namespace

/// Writes the header as lines, then zeros up to a multiple of 64, then the bytes.
std::string encode_blob(const BlobHeader& header, std::string_view bytes) {
  std::string blob = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", magic, header.name, header.version,
                                 header.inputs, header.outputs, header.constants);
  blob += fmt::format("{}\n", header.costs.size());
  for (const DeclaredCost& cost : header.costs) {
    std::string label = cost.label;
    std::ranges::replace(label, '\n', ' ');
    blob += fmt::format("{}\n{}\n", cost.nanoseconds, label);
  }
  blob.resize((blob.size() + alignment - 1) / alignment * alignment);
  return blob.append(bytes);
}

Result<ReadBlob> decode_blob(std::span<const std::byte> blob) {
  const std::string_view whole = as_text(blob);
  std::string_view text = whole;
  if (TRY(take_line(text)) != magic)
    return fail(
        ErrorKind::version,
        "the blob of the plug-in is damaged or of another version of Intarsia; compile the model again");
  ReadBlob read;
  read.header.name = TRY(take_line(text));
  read.header.version = TRY(take_line(text));
  read.header.inputs = TRY(take_number(text));
  read.header.outputs = TRY(take_number(text));
  read.header.constants = TRY(take_number(text));
  for (uint64_t left = TRY(take_number(text)); left > 0; --left) {
    const uint64_t nanoseconds = TRY(take_number(text));
    read.header.costs.push_back({std::string(TRY(take_line(text))), nanoseconds});
  }
  const size_t end = (whole.size() - text.size() + alignment - 1) / alignment * alignment;
  if (end > whole.size()) return fail("the blob of the plug-in is damaged");
  read.bytes = blob.subspan(end);
  return read;
}

}  // namespace intarsia::plugin
