#include "cli/inputs/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <intarsia/intarsia.hpp>
#include <string_view>

#include "cli/inputs/npy.h"

namespace {

using intarsia::Error;

/// Parser that reads the dictionary from left to right.
class DictionaryParser {
 public:
  DictionaryParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    NpyHeader header;
    int seen = 0;  // bits: descr, fortran_order, shape
    expect('{');
    while (!take('}')) {
      const std::string key = parse_string();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') fail("has a structured type; save one plain array");
        header.descr = parse_string();
        seen |= 1;
      } else if (key == "fortran_order") {
        header.fortran_order = parse_bool();
        seen |= 2;
      } else if (key == "shape") {
        header.shape = parse_shape();
        seen |= 4;
      } else {
        fail("has an entry '" + key + "' that a .npy file does not have");
      }
      if (!take(',') && peek() != '}') fail("has a damaged header");
    }
    if (seen != 7) fail("lacks descr, fortran_order or shape in its header");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Error(path_ + ": " + why); }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail("has a damaged header");
  }

  std::string parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("has a damaged header");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("has a damaged header");
    const std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }

  bool parse_bool() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>("True", true), {"False", false}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail("has a damaged header");
  }

  std::vector<int64_t> parse_shape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!take(')')) {
      peek();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("has a damaged shape");
      at_ = static_cast<size_t>(end - text_.data());
      shape.push_back(size);
      if (shape.size() > 64) fail("has more than 64 dimensions");
      if (!take(',') && peek() != ')') fail("has a damaged shape");
    }
    return shape;
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

struct TypeName {
  char letter;
  size_t bytes;
  int32_t dtype;
};

/// Types that NumPy has a name for.
constexpr TypeName type_names[] = {
    {'b', 1, INTARSIA_BOOL}, {'u', 1, INTARSIA_U8},    {'u', 2, INTARSIA_U16}, {'u', 4, INTARSIA_U32},
    {'u', 8, INTARSIA_U64},  {'i', 1, INTARSIA_I8},    {'i', 2, INTARSIA_I16}, {'i', 4, INTARSIA_I32},
    {'i', 8, INTARSIA_I64},  {'f', 2, INTARSIA_F16},   {'f', 4, INTARSIA_F32}, {'f', 8, INTARSIA_F64},
    {'c', 8, INTARSIA_C64},  {'c', 16, INTARSIA_C128},
};

bool is_raw(int32_t dtype) {
  return dtype == INTARSIA_BF16 || dtype == INTARSIA_F4E2M1 || dtype == INTARSIA_F8E8M0 ||
         (dtype >= INTARSIA_F8E4M3FN && dtype <= INTARSIA_F8E5M2FNUZ);
}

/// Returns the bytes of one element in a file: packed elements take one byte each.
size_t file_bytes(int32_t dtype) { return static_cast<size_t>(std::max(dtype_bits(dtype), 8)) / 8; }

}  // namespace

NpyHeader parse_npy_header(const std::vector<char>& file, const std::string& path) {
  constexpr size_t fixed = 8;  // magic and version
  if (file.size() < fixed + 2 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0)
    throw Error(path + ": is not a .npy file");
  const int version = file[6];
  if (version < 1 || version > 3)
    throw Error(fmt::format("{}: is a .npy file of version {}; want 1, 2 or 3", path, version));
  const size_t length_bytes = version == 1 ? 2 : 4;
  uint32_t length = 0;  // little-endian
  for (size_t i = 0; i < length_bytes && fixed + i < file.size(); ++i) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>(file[fixed + i])) << (8 * i);
  }
  if (file.size() < fixed + length_bytes || file.size() - fixed - length_bytes < length)
    throw Error(path + ": ends within its header");
  NpyHeader header = DictionaryParser({file.data() + fixed + length_bytes, length}, path).parse();
  header.bytes = fixed + length_bytes + length;
  return header;
}

NpyType parse_npy_type(const std::string& descr, const std::string& path) {
  const auto unknown = [&] {
    return Error(fmt::format(
        "{}: has element type '{}'; want numbers, booleans or strings, not objects or dates", path, descr));
  };
  if (descr.size() < 3) throw unknown();
  if (descr[0] == '>')
    throw Error(fmt::format("{}: is big-endian ('{}'); save array.astype('<{}') instead", path, descr,
                            descr.substr(1)));
  if (descr[0] != '<' && descr[0] != '|' && descr[0] != '=') throw unknown();
  NpyType type;
  type.letter = descr[1] == '?' ? 'b' : descr[1];
  const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), type.bytes);
  if (error != std::errc() || end != descr.data() + descr.size() || type.bytes > (size_t{1} << 30))
    throw unknown();
  if (type.letter == 'U') type.bytes *= 4;
  const bool known = std::any_of(std::begin(type_names), std::end(type_names), [&](const TypeName& name) {
    return name.letter == type.letter && name.bytes == type.bytes;
  });
  const bool raw = type.letter == 'V' && (type.bytes == 1 || type.bytes == 2);
  if (!known && !raw && type.letter != 'S' && type.letter != 'U') throw unknown();
  return type;
}

int32_t dtype_of_npy(const NpyType& type, int32_t wanted, const std::string& path) {
  if (type.letter == 'S' || type.letter == 'U') return INTARSIA_STRING;
  if (type.letter == 'V') {
    if (is_raw(wanted) && file_bytes(wanted) == type.bytes) return wanted;
    if (type.bytes == 2) return INTARSIA_BF16;
    throw Error(path + ": holds raw bytes (V1), which could be several types of 8-bit floats");
  }
  const bool is_signed = wanted == INTARSIA_I4 || wanted == INTARSIA_I2;
  const bool is_unsigned = wanted == INTARSIA_U4 || wanted == INTARSIA_U2;
  if (type.bytes == 1 && ((type.letter == 'i' && is_signed) || (type.letter == 'u' && is_unsigned)))
    return wanted;
  return std::find_if(
             std::begin(type_names), std::end(type_names),
             [&](const TypeName& name) { return name.letter == type.letter && name.bytes == type.bytes; })
      ->dtype;
}

std::string descr_of_dtype(int32_t dtype, size_t width) {
  if (dtype == INTARSIA_STRING) return fmt::format("|S{}", width);
  if (is_raw(dtype)) return fmt::format("|V{}", file_bytes(dtype));
  if (dtype == INTARSIA_I4 || dtype == INTARSIA_I2) return "|i1";
  if (dtype == INTARSIA_U4 || dtype == INTARSIA_U2) return "|u1";
  const auto* name = std::find_if(std::begin(type_names), std::end(type_names),
                                  [&](const TypeName& one) { return one.dtype == dtype; });
  if (name == std::end(type_names))
    throw Error(fmt::format("a value of type {} cannot be written to a .npy file", dtype));
  return fmt::format("{}{}{}", name->bytes == 1 ? '|' : '<', name->letter, name->bytes);
}

std::string make_npy_header(const std::string& descr, const std::vector<int64_t>& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr size_t fixed = 10, alignment = 64;
  const size_t padding = (alignment - (fixed + text.size() + 1) % alignment) % alignment;
  text += std::string(padding, ' ') + '\n';
  const auto length = static_cast<uint16_t>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xff) +
         static_cast<char>(length >> 8) + text;
}
