// Run half of the null backend.
#pragma once

#include "device/executable.h"

namespace intarsia {

RunBackend null_run_backend();

}  // namespace intarsia
