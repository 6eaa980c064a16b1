// Compile half of the backend `kernels`: operators that the user's own libraries implement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "target/target.h"

namespace intarsia {

/// Opens the libraries of --kernels. Errors name the file.
Result<std::unique_ptr<Target>> make_kernels_target(const std::vector<std::string>& libraries);

}  // namespace intarsia
