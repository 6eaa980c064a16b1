// What a file is that a user names as MODEL|PROGRAM.
#pragma once

#include <string>

#include "base/result.h"

namespace intarsia {

/// True for a program (an ELF file), false for anything else, which is taken for a model. Error: cannot be
/// read.
Result<bool> is_program_file(const std::string& path);

/// Digest of a model file, as programs record it.
Result<uint64_t> digest_model(const std::string& path);

}  // namespace intarsia
