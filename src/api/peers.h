// Other runtimes, to compare speed with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

struct PeerRequest {
  std::string runtime;  // "onnxruntime", "openvino", "tensorflow"
  std::string
      configuration;  // "latency_hint", "one_stream" of openvino; empty: the runtime's first or only one
  std::string model_path;
  int threads = 1;
  std::vector<NamedValue> inputs;         // all of them
  std::string signature;                  // of a SavedModel; empty: its default
  std::vector<std::string> op_libraries;  // libraries of the user's TensorFlow operators
};

/// A model opened in another runtime, with its inputs. One run at a time.
struct OpenPeer {
  std::string version;
  std::function<Status()> run;
  /// Of the last run, in the model's order; their memory may be written by the next run.
  std::function<Result<std::vector<NamedValue>>()> outputs;
};

/// Configured for latency: all threads in one run, workers that wait without sleeping.
Result<OpenPeer> open_peer(const PeerRequest& request);

}  // namespace intarsia
