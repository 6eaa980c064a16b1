// Table of this process's programs, so that users of one program share it.
#pragma once

#include "runtime/load_program.h"

namespace intarsia {

/// Loads a program as load_program() does, unless a user of this process has one of the same bytes, from
/// whatever file, and the same backends: then returns that one. It is freed with its last user.
Result<std::shared_ptr<const LoadedProgram>> share_program(const std::string& path,
                                                           std::span<const RunBackend> backends);
/// Does the same with a program's bytes, which are copied if it has to be loaded.
Result<std::shared_ptr<const LoadedProgram>> share_program(std::span<const std::byte> bytes,
                                                           std::span<const RunBackend> backends);

}  // namespace intarsia
