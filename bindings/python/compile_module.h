// Compile half of the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace intarsia_python {

/// Adds check_output, write_output, and compile, explain, check, backends and others, which open
/// libintarsia_compile.so on first use.
void define_compile(nanobind::module_& module);

}  // namespace intarsia_python
