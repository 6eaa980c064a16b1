// Programs of others that do one job and end.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Exit status of run_program() where PATH has no program of that name.
inline constexpr int not_on_path = 127;

/// Runs a program found on PATH, without a shell and without input; what it prints becomes the file `log`.
/// Returns its exit status, not_on_path, or 128 and the number of the signal that ended it.
Result<int> run_program(const std::vector<std::string>& arguments, const std::string& log);

}  // namespace intarsia
