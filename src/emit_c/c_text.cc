#include "emit_c/c_text.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "base/result.h"

namespace intarsia {
namespace {

std::string c_operation(SizePart::Kind kind, const std::string& a, const std::string& b) {
  switch (kind) {
    case SizePart::Kind::add:
      return fmt::format("({} + {})", a, b);
    case SizePart::Kind::multiply:
      return fmt::format("({} * {})", a, b);
    case SizePart::Kind::floor_div:
      return fmt::format("intarsia_floor_div({}, {})", a, b);
    case SizePart::Kind::smaller:
      return fmt::format("intarsia_smaller({}, {})", a, b);
    case SizePart::Kind::larger:
      return fmt::format("intarsia_larger({}, {})", a, b);
    default:
      return "";
  }
}

}  // namespace

std::string c_number(int64_t number) {
  if (number == std::numeric_limits<int64_t>::min()) return "INT64_MIN";
  const bool is_int = number >= std::numeric_limits<int32_t>::min() + int64_t{1} &&
                      number <= std::numeric_limits<int32_t>::max();
  const std::string text = fmt::format("{}{}", number, is_int ? "" : "LL");
  return number < 0 ? fmt::format("({})", text) : text;
}

const char* c_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::boolean:
    case DType::u8:
      return "uint8_t";
    case DType::i8:
      return "int8_t";
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return "uint16_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::u32:
      return "uint32_t";
    case DType::i64:
      return "int64_t";
    case DType::u64:
      return "uint64_t";
    default:
      return "";
  }
}

std::string c_expression(const Dim& size, const std::map<std::string, std::string>& names) {
  std::vector<std::string> stack;
  for (const SizePart& part : size.postfix()) {
    if (part.kind == SizePart::Kind::number) {
      stack.push_back(c_number(part.number));
    } else if (part.kind == SizePart::Kind::symbol) {
      stack.push_back(names.at(part.symbol));
    } else {
      const std::string b = stack.back();
      stack.pop_back();
      stack.back() = c_operation(part.kind, stack.back(), b);
    }
  }
  return stack.back();
}

std::string c_comment(const std::string& text) {
  std::string made;
  for (char c : text) {
    const bool ends = !made.empty() && ((made.back() == '*' && c == '/') || (made.back() == '/' && c == '*'));
    if (ends) made += ' ';
    made += static_cast<unsigned char>(c) < ' ' || c == '\\' || c == '?' ? ' ' : c;
  }
  return made;
}

std::string c_string(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    const bool is_plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
    made += is_plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return made + '"';
}

std::string describe_type(DType dtype, const SymbolicShape& sizes) {
  std::string text(dtype_name(dtype));
  if (!sizes.empty()) text += ' ';
  for (const Dim& size : sizes) text += fmt::format("[{}]", size.print());
  return text;
}

}  // namespace intarsia
