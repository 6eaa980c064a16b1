// Operators of TensorFlow that the importer does away with.
#pragma once

#include <string_view>

namespace intarsia {

/// Its outputs are its inputs, as far as a frozen program can tell.
bool is_alias(std::string_view op);

/// A variable, which becomes a constant.
bool is_variable(std::string_view op);

/// A variable of TensorFlow 1 that has no handle, whose contents are not read.
bool is_reference_variable(std::string_view op);

/// Makes of a variable's handle what follows from its value: the value, its shape, some of its rows.
bool reads_variable(std::string_view op);

/// Calls its one function, once and for sure: it is replaced by the function's nodes.
bool calls_function(std::string_view op);

}  // namespace intarsia
