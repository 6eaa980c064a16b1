// Other runtimes, to compare speed with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "graph/graph.h"

namespace intarsia {

struct PeerRequest {
  std::string runtime;        // "onnxruntime", "openvino", "tensorflow"
  std::string configuration;  // empty: the runtime's first
  std::string model_path;
  int threads = 1;                        // threads of a run
  std::vector<NamedValue> inputs;         // values of all inputs
  std::string signature;                  // signature of a SavedModel; empty: its default
  std::vector<std::string> op_libraries;  // libraries of the user's TensorFlow operators
  bool rounds_to_bf16 = false;            // whether OpenVINO may compute f32 in bf16
};

/// Model opened in another runtime, with its inputs.
struct OpenPeer {
  std::string version;
  /// Functions, at least one, that make one run at a time; several may run at once, in different threads.
  std::vector<std::function<Status()>> lanes;
  /// Returns the outputs of the first lane's last run, in the model's order; the next may write their memory.
  std::function<Result<std::vector<NamedValue>>()> outputs;
};

/// Opens a model, configured for latency: all threads in one run, workers that wait without sleeping. Or,
/// with the configuration "throughput", for as many runs at once as the process has cores for.
Result<OpenPeer> open_peer(const PeerRequest& request);

/// Opens a graph of TensorFlow's operators in TensorFlow, with its inputs in order.
Result<OpenPeer> open_tensorflow_graph(const Graph& graph, const std::vector<NamedValue>& inputs,
                                       const std::vector<std::string>& op_libraries, int threads);

/// Returns the path of the library with TensorFlow's operator for programs (bindings/tensorflow), which lies
/// beside TensorFlow. Error: there is none.
Result<std::string> find_program_operator();

}  // namespace intarsia
