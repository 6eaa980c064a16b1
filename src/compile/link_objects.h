// Links the backends' objects into the code of a program.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace intarsia {

/// Bytes of a shared object that exports the symbols named `intarsia_*` and hides all others. `objects` are
/// the bytes of ELF relocatable files for `arch` ("x86_64", "aarch64", "riscv64"); with none the result is a
/// valid, empty library. The same objects in the same order give the same bytes. Runs ld.lld (package lld),
/// in a folder of its own under the system's temporary folder. Errors carry what the linker said.
Result<std::string> link_objects(std::span<const std::string> objects, const std::string& arch);

}  // namespace intarsia
