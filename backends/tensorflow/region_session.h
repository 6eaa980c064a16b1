// Session of a region: the compile half tries it, the run half runs it.
#pragma once

#include "backends/tensorflow/session.h"

namespace intarsia::tf {

struct RegionGraph {
  std::string_view graph_def;
  std::vector<std::string> constant_names;
  std::vector<ConstTensorView> constants;
  std::vector<std::string> inputs, outputs, initializers;
  bool has_control_flow = false;
};

struct RegionSession {
  std::unique_ptr<Session> session;
  std::vector<TF_Output> inputs, outputs;
};

/// Returns a serialized GraphDef with the constants as nodes, of the version of operators that this
/// TensorFlow has.
Result<std::string> complete_graph(const Library& library, const RegionGraph& region);

/// Opens a session of the graph with its constants, and fills its tables.
Result<RegionSession> open_region(const Library& library, const RegionGraph& region, int threads);

}  // namespace intarsia::tf
