// Run half of the reference backend: walks a list of kernel calls, in the calling thread.
#pragma once

#include "device/executable.h"

namespace intarsia {

RunBackend reference_run_backend();

}  // namespace intarsia
