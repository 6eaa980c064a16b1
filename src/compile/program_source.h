// Kind of the file that a user names as MODEL|PROGRAM.
#pragma once

#include <string>

#include "base/result.h"

namespace intarsia {

/// Checks whether the file is a program (an ELF file); anything else is taken for a model. Error: it cannot
/// be read.
Result<bool> is_program_file(const std::string& path);

/// Returns the digest of a model file, as programs record it.
Result<uint64_t> digest_model(const std::string& path);

}  // namespace intarsia
