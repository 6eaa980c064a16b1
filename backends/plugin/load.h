// The run half of plug-ins.
#pragma once

#include <vector>

#include "device/executable.h"

namespace intarsia {

/// One for each plug-in that is loaded now, named as it.
std::vector<RunBackend> plugin_run_backends();

}  // namespace intarsia
