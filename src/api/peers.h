// Other runtimes, to compare speed with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

struct PeerRequest {
  std::string runtime;        // "onnxruntime", "openvino", "tensorflow"
  std::string configuration;  // empty: the runtime's first
  std::string model_path;
  int threads = 1;                        // of a run
  std::vector<NamedValue> inputs;         // all of them
  std::string signature;                  // of a SavedModel; empty: its default
  std::vector<std::string> op_libraries;  // libraries of the user's TensorFlow operators
};

/// A model opened in another runtime, with its inputs.
struct OpenPeer {
  std::string version;
  /// Each makes one run at a time; different ones may run at once, in different threads. At least one.
  std::vector<std::function<Status()>> lanes;
  /// Of the last run in the first lane, in the model's order; their memory may be written by the next run.
  std::function<Result<std::vector<NamedValue>>()> outputs;
};

/// Configured for latency: all threads in one run, workers that wait without sleeping. Or, with the
/// configuration "throughput", for as many runs at once as the process has cores for.
Result<OpenPeer> open_peer(const PeerRequest& request);

}  // namespace intarsia
