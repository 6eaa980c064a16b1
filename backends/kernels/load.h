// Run half of the backend `kernels`.
#pragma once

#include "device/executable.h"

namespace intarsia {

RunBackend kernels_run_backend();

}  // namespace intarsia
