// The run backends of this library.
#pragma once

#include <span>

#include "device/executable.h"

namespace intarsia {

std::span<const RunBackend> run_backends();

}  // namespace intarsia
