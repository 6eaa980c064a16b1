// Run half of the ONNX Runtime backend: a region is a session that reads and writes our buffers in place.
#pragma once

#include "device/executable.h"

namespace intarsia {

RunBackend onnxruntime_run_backend();

}  // namespace intarsia
