// Programs of functions that users wrote in a backend's own language, and compiled.
#pragma once

#include <span>
#include <string>

#include "target/function_compiler.h"

namespace intarsia {

/// Beginning of the symbols of a user's function, before its name.
inline constexpr std::string_view user_function_prefix = "intarsia_function_";

/// Links the objects and writes a program with a function for each to `path`, all or nothing. Errors name the
/// function: two have one name, an object lacks its symbols, its sizes cannot be told, or it was compiled for
/// a CPU level that no machine is known by.
Status export_functions(std::span<const FunctionObject> functions, const FunctionCompiler& compiler,
                        const std::string& path);

}  // namespace intarsia
