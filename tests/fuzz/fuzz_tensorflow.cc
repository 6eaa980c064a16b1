// Arbitrary bytes as a frozen GraphDef, and as a saved_model.pb: importing, folding, translating and writing
// back end in a graph that verifies or in an error, never in a crash. TensorFlow itself is absent: an
// operator has one output, variables and tables are small.
//
// Covers: src/import/ import_tensorflow.cc
// src/translate/ translate_node.cc translation.cc
// backends/tensorflow/ write_graph_def.cc
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "backends/tensorflow/write_graph_def.h"
#include "graph/verify_graph.h"
#include "import/import_tensorflow.h"
#include "tests/fuzz/fold_with_budget.h"
#include "translate/translate_node.h"

namespace {

using namespace intarsia;

TensorFlowSource make_source() {
  TensorFlowSource source;
  source.find_op = [](const std::string& op) -> Result<const tensorflow::OpDef*> {
    static tensorflow::OpDef one;
    one.name = op;
    one.outputs = {{"output", 0, {}, {}, {}}};
    return &one;
  };
  source.read_saved_model = [](const SavedModelFiles&, const std::vector<std::string>& variables,
                               const std::vector<SavedTable>& tables) -> Result<SavedContents> {
    SavedContents contents;
    contents.variables.assign(variables.size(), Tensor(DType::f32, {2, 2}));
    contents.tables.assign(tables.size(), {Tensor(DType::string, {2}), Tensor(DType::i64, {2})});
    return contents;
  };
  return source;
}

void must_verify(const Graph& graph) {
  const Status verified = verify_graph(graph);
  if (verified) return;
  std::fprintf(stderr, "%s\n", verified.error().message.c_str());
  std::abort();
}

void exercise(Result<Graph> graph) {
  if (!graph) return;
  fold_with_budget(*graph);
  must_verify(*graph);
  (void)tf::write_graph_def(*graph);
  Result<Graph> translated = translate_graph(*graph, [](NodeId) { return true; });
  if (!translated) return;
  must_verify(*translated);
  fold_with_budget(*translated);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TensorFlowSource source = make_source();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  exercise(import_graph_def_bytes(bytes, source));
  exercise(import_saved_model_bytes(bytes, "", source, ""));
  return 0;
}
