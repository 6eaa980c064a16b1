// Lookup of a program's functions by name.
#pragma once

#include <string_view>

#include "runtime/bind_program.h"

namespace intarsia {

/// Returns the number of a function; an empty name means the only one. The error lists the known names.
Result<size_t> find_function(const fbs::ProgramT& program, std::string_view name);
Result<size_t> find_function(const BoundProgram& program, std::string_view name);

}  // namespace intarsia
