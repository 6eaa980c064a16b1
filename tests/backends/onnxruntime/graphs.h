// Regions in ONNX Runtime, for its tests.
#pragma once

#include "backends/onnxruntime/load.h"
#include "backends/onnxruntime/target.h"
#include "tests/support/region_support.h"

namespace intarsia::test {

inline Result<std::unique_ptr<LoadedRegion>> load_region(const Graph& graph, int threads = 1) {
  return load_region(*make_onnxruntime_target(), onnxruntime_run_backend(), graph, threads);
}

}  // namespace intarsia::test
