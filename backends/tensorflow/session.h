// Owning wrappers of a TensorFlow graph and its session.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/tensorflow/tensor.h"

namespace intarsia::tf {

class SessionGraph {
 public:
  explicit SessionGraph(const Library& library) : library_(library), graph_(library.api().new_graph()) {}
  ~SessionGraph() { library_.api().delete_graph(graph_); }
  SessionGraph(const SessionGraph&) = delete;
  SessionGraph& operator=(const SessionGraph&) = delete;
  operator TF_Graph*() const { return graph_; }

  /// Adds all nodes of a serialized GraphDef.
  Status import(std::string_view graph_def);
  /// Finds "node:1"; fails if there is no such node.
  Result<TF_Output> find(const std::string& tensor) const;

 private:
  const Library& library_;
  TF_Graph* graph_;
};

/// Name of the library's threads in the system.
inline constexpr const char* thread_name = "tensorflow";

struct SessionSettings {
  int threads = 1;                // threads of one operator, including the caller's
  bool has_control_flow = false;  // loops and branches, which the fastest executor cannot run
};

/// Session that any number of threads may run at once.
class Session {
 public:
  /// Makes a session of the nodes of a serialized GraphDef.
  static Result<std::unique_ptr<Session>> from_graph(const Library& library, std::string_view graph_def,
                                                     const SessionSettings& settings);
  /// Opens a SavedModel with its variables restored and its initializers run.
  static Result<std::unique_ptr<Session>> from_saved_model(const Library& library, const std::string& folder,
                                                           const std::vector<std::string>& tags,
                                                           const SessionSettings& settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Library& library() const { return library_; }
  SessionGraph& graph() { return graph_; }
  operator TF_Session*() const { return session_; }

  /// Runs in the calling thread. `outputs` gets one tensor per endpoint, which the caller owns; none on
  /// failure.
  Status run(std::span<const TF_Output> inputs, std::span<TF_Tensor* const> input_values,
             std::span<const TF_Output> outputs, std::span<TF_Tensor*> output_values) const;
  /// Runs nodes without outputs: initializers.
  Status run_targets(std::span<const TF_Operation* const> targets) const;

 private:
  explicit Session(const Library& library) : library_(library), graph_(library) {}

  const Library& library_;
  SessionGraph graph_;
  TF_Session* session_ = nullptr;
};

}  // namespace intarsia::tf
