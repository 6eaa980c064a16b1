// Run backends of this library.
#pragma once

#include <vector>

#include "device/executable.h"

namespace intarsia {

/// Returns the run backends, with those of the plug-ins that are loaded.
std::vector<RunBackend> run_backends();

}  // namespace intarsia
