// The run backends of this library.
#pragma once

#include <vector>

#include "device/executable.h"

namespace intarsia {

/// With those of the plug-ins that are loaded now.
std::vector<RunBackend> run_backends();

}  // namespace intarsia
