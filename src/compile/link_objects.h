// Linking the backends' objects into the code of a program.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace intarsia {

/// Libraries that the system loads with a program's code.
enum class Libraries : uint8_t { none, mathematics };

/// Returns the bytes of a shared object that exports the symbols named `intarsia_*` and hides all others.
/// `objects` are the bytes of ELF relocatable files for `arch` (arch_name()); without any, the result is a
/// valid, empty library. The output is deterministic in the objects and their order. Runs
/// ld.lld (package lld) in its own folder under the system's temporary folder. Errors carry the linker's
/// message.
/// `libraries`: what the code may call; only what it does call is loaded with it.
Result<std::string> link_objects(std::span<const std::string> objects, const std::string& arch,
                                 Libraries libraries = Libraries::none);

}  // namespace intarsia
