// A region on a device that stands in for one that the machine lacks.
#pragma once

#include "backends/plugin/plugin_blob.h"
#include "device/executable.h"

namespace intarsia::plugin {

/// Makes a region that takes as long as its nodes are declared to take, reports them, and leaves its outputs
/// as they are.
std::unique_ptr<Executable> make_declared_region(const BlobHeader& header);

}  // namespace intarsia::plugin
