// Printers of the words of the text form; text_scanner.h reads them.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace intarsia {

/// Characters of a value name that needs no quotes, besides letters and digits.
inline constexpr std::string_view plain_name_marks = "_./-#";

/// Prints "a\"b\x00": printable ASCII stays, the rest is escaped byte by byte.
std::string print_quoted(std::string_view text);
/// Prints operators, domains, attributes, symbols: a C identifier stays, anything else is quoted.
std::string print_word(std::string_view text);
/// Prints a domain; like print_word, but dots may also stay: "com.microsoft".
std::string print_domain(std::string_view domain);
/// Prints "%x", "%/conv1/out_0", "%\"a b\"".
std::string print_value_name(std::string_view name);
std::string print_hex(std::string_view bytes);
/// Prints the shortest text that reads back as the same bits, never mistaken for an integer: "1.0", "-inf",
/// "nan", "nan(ffc00001)".
std::string print_float(float value);
std::string print_float(double value);

/// Prints a type that parses back: "f32[batch,3,?]", "f32[*]", "f32[]", "opaque<0a04>"; with elements,
/// "i64[2]<batch,3>".
std::string print_full_type(const ValueType& type);

/// Prints elements that parse back given dtype and shape: "{1, 2}", "{1.5, nan}", "{"a"}"; types without
/// digits of their own (complex, floats of 16 bits and fewer, packed integers) as the hex of their bytes:
/// "hex<003c>".
std::string print_elements(const TensorView& tensor);

}  // namespace intarsia
