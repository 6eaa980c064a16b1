// Programs of functions that users wrote in a backend's own language, and compiled.
#pragma once

#include <span>
#include <string>

#include "compile/compile_request.h"
#include "target/function_compiler.h"

namespace intarsia {

/// Links the objects and writes a program with a function for each, all or nothing. Of the request, its
/// program, threads and sizes to be fastest at count; other open sizes are taken as usual ones. Errors name
/// the function: two have one name, an object lacks its symbols, its sizes cannot be told, or it was compiled
/// for a CPU level that no machine is known by; or a size that no function has.
Status export_functions(std::span<const FunctionObject> functions, const FunctionCompiler& compiler,
                        const CompileRequest& request);

}  // namespace intarsia
