// Pieces of C.
#pragma once

#include <map>
#include <string>

#include "base/dtype.h"
#include "base/shape.h"

namespace intarsia {

/// Returns the type of an element: "float"; bits of 16-bit floats are uint16_t, and bool is uint8_t. Empty
/// for a type that C has not.
const char* c_type(DType dtype);

/// Returns the number as an expression of its type, also where no literal has it.
std::string c_number(int64_t number);

/// Returns the size as an expression of type int64_t. `names` has the variable of each of its symbols.
std::string c_expression(const Dim& size, const std::map<std::string, std::string>& names);

/// Returns the text for a comment, on one line, without what would end it.
std::string c_comment(const std::string& text);

/// Returns the string literal of a text.
std::string c_string(const std::string& text);

/// Returns "f32 [batch][10]".
std::string describe_type(DType dtype, const SymbolicShape& sizes);

}  // namespace intarsia
