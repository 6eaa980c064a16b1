// Regions in OpenVINO, for its tests.
#pragma once

#include "backends/openvino/load.h"
#include "backends/openvino/target.h"
#include "tests/support/region_support.h"

namespace intarsia::test {

inline Result<std::unique_ptr<LoadedRegion>> load_region(const Graph& graph, int threads = 1) {
  return load_region(*make_openvino_target(), openvino_run_backend(), graph, threads);
}

/// Makes the graph x + one, of shape [2,2].
inline Graph add_one(DType dtype, const Tensor& one) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(dtype, Shape{2, 2}));
  return g.finish({g.node("Add", {x, g.constant("one", one)}, tensor_type(dtype, Shape{2, 2}))});
}

}  // namespace intarsia::test
