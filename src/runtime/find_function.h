// A function of a program by its name.
#pragma once

#include <string_view>

#include "runtime/bind_program.h"

namespace intarsia {

/// Its number; an empty name means the only one. The error lists those that there are.
Result<size_t> find_function(const fbs::ProgramT& program, std::string_view name);
Result<size_t> find_function(const BoundProgram& program, std::string_view name);

}  // namespace intarsia
