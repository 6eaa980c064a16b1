// TensorFlow operators that the importer eliminates.
#pragma once

#include <initializer_list>
#include <string_view>

namespace intarsia {

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names);

/// Checks whether the operator's outputs are its inputs, as far as a frozen program can tell.
bool is_alias(std::string_view op);

/// Checks for a variable, which becomes a constant.
bool is_variable(std::string_view op);

/// Checks for a variable of TensorFlow 1 that has no handle; its contents are not read.
bool is_reference_variable(std::string_view op);

/// Checks whether the operator reads from a variable's handle: its value, the value's shape, some of its
/// rows.
bool reads_variable(std::string_view op);

/// Checks whether the operator calls its only function exactly once, unconditionally: it is replaced by the
/// function's nodes.
bool calls_function(std::string_view op);

}  // namespace intarsia
