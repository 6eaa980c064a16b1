// Run half of plug-ins.
#pragma once

#include <vector>

#include "device/executable.h"

namespace intarsia {

/// Returns a run backend for each plug-in loaded at the time of the call, with the plug-in's name.
std::vector<RunBackend> plugin_run_backends();

}  // namespace intarsia
