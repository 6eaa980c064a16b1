#include "graph/text_words.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace intarsia {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Checks for at least one character, all of them letters, digits or these marks.
bool is_plain(std::string_view text, std::string_view marks) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || is_digit(c) || marks.find(c) != std::string_view::npos;
  });
}

template <typename Float, typename Bits>
std::string print_number(Float value) {
  if (std::isnan(value)) {
    const Bits bits = std::bit_cast<Bits>(value);
    return bits == std::bit_cast<Bits>(std::numeric_limits<Float>::quiet_NaN())
               ? "nan"
               : fmt::format("nan({:x})", bits);
  }
  char buffer[64];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  return text.find_first_of(".ein") == std::string::npos ? text + ".0" : text;
}

template <typename T>
std::string print_list(const TensorView& tensor) {
  std::string text = "{";
  for (const T& element : tensor.as<T>()) {
    if (text.size() > 1) text += ", ";
    if constexpr (std::is_same_v<T, std::string>)
      text += print_quoted(element);
    else if constexpr (std::is_floating_point_v<T>)
      text += print_float(element);
    else
      text += std::to_string(element);
  }
  return text + "}";
}

std::string print_dims(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    if (!text.empty()) text += ',';
    text += dim.print([](const std::string& symbol) { return print_word(symbol); });
  }
  return text;
}

}  // namespace

std::string print_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      (quoted += '\\') += c;
    else if (c == '\n')
      quoted += "\\n";
    else if (c >= 0x20 && c < 0x7f)
      quoted += c;
    else
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return quoted + '"';
}

std::string print_word(std::string_view text) {
  const bool plain = is_plain(text, "_") && !is_digit(text[0]);
  return plain ? std::string(text) : print_quoted(text);
}

std::string print_domain(std::string_view domain) {
  const bool plain = is_plain(domain, "_.") && !is_digit(domain[0]) && domain[0] != '.';
  return plain ? std::string(domain) : print_quoted(domain);
}

std::string print_value_name(std::string_view name) {
  return '%' + (is_plain(name, plain_name_marks) ? std::string(name) : print_quoted(name));
}

std::string print_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (unsigned char byte : bytes) (hex += digits[byte >> 4]) += digits[byte & 15];
  return hex;
}

std::string print_float(float value) { return print_number<float, uint32_t>(value); }
std::string print_float(double value) { return print_number<double, uint64_t>(value); }

std::string print_full_type(const ValueType& type) {
  if (type.opaque) return "opaque<" + print_hex(type.encoded) + ">";
  if (!type.shape) return std::string(dtype_name(type.dtype)) + "[*]";
  std::string text = fmt::format("{}[{}]", dtype_name(type.dtype), print_dims(*type.shape));
  if (type.elements) text += "<" + print_dims(*type.elements) + ">";
  return text;
}

std::string print_elements(const TensorView& tensor) {
  switch (tensor.dtype) {
    case DType::u8:
      return print_list<uint8_t>(tensor);
    case DType::i8:
      return print_list<int8_t>(tensor);
    case DType::u16:
      return print_list<uint16_t>(tensor);
    case DType::i16:
      return print_list<int16_t>(tensor);
    case DType::u32:
      return print_list<uint32_t>(tensor);
    case DType::i32:
      return print_list<int32_t>(tensor);
    case DType::u64:
      return print_list<uint64_t>(tensor);
    case DType::i64:
      return print_list<int64_t>(tensor);
    case DType::boolean:
      return print_list<uint8_t>(tensor);
    case DType::f32:
      return print_list<float>(tensor);
    case DType::f64:
      return print_list<double>(tensor);
    case DType::string:
      return print_list<std::string>(tensor);
    default:
      return "hex<" + print_hex({static_cast<const char*>(tensor.data), tensor.bytes()}) + ">";
  }
}

}  // namespace intarsia
