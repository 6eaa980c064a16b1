// Run half of the OpenVINO backend: a region is a compiled model that reads and writes our buffers in place.
#pragma once

#include "device/executable.h"

namespace intarsia {

RunBackend openvino_run_backend();

}  // namespace intarsia
