// Run half of the TensorFlow backend: a region is a session, called in the calling thread, that reads our
// buffers in place and whose results are adopted.
#pragma once

#include "device/executable.h"

namespace intarsia {

RunBackend tensorflow_run_backend();

}  // namespace intarsia
