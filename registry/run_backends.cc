#include "api/run_backends.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "backends/plugin/load.h"
#include "registry/run_backends_present.h"

namespace intarsia {

// Defined in backends/<name>/.
RunBackend reference_run_backend();
RunBackend kernels_run_backend();
RunBackend onnxruntime_run_backend();
RunBackend tensorflow_run_backend();
RunBackend openvino_run_backend();
namespace halide {
RunBackend run_backend();
}

// Returns the run backends of this build, listed only here, and plug-ins. A backend that was left out of this
// build is not called, so it need not be linked.
std::vector<RunBackend> run_backends() {
  static const std::vector<RunBackend> backends = [] {
    std::vector<RunBackend> all;
    if constexpr (have_reference) all.push_back(reference_run_backend());
    if constexpr (have_kernels) all.push_back(kernels_run_backend());
    if constexpr (have_onnxruntime) all.push_back(onnxruntime_run_backend());
    if constexpr (have_tensorflow) all.push_back(tensorflow_run_backend());
    if constexpr (have_openvino) all.push_back(openvino_run_backend());
    if constexpr (have_halide) all.push_back(halide::run_backend());
    return all;
  }();
  std::vector<RunBackend> all = backends;
  if constexpr (have_plugin) std::ranges::move(plugin_run_backends(), std::back_inserter(all));
  return all;
}

}  // namespace intarsia
