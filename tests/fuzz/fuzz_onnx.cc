// Arbitrary bytes as an ONNX model: importing and folding end in a graph that verifies or in an error, never
// in a crash.
//
// Covers: src/import/ import_onnx.cc onnx_attributes.cc onnx_messages.cc onnx_subgraph.cc onnx_tensor.cc
// read_annotations.cc write_annotations.cc
// src/passes/ fold_constants.cc infer_types.cc
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "graph/verify_graph.h"
#include "import/import_onnx.h"
#include "import/read_annotations.h"
#include "import/write_annotations.h"
#include "tests/fuzz/fold_with_budget.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intarsia;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(parse_annotations(bytes));
  static_cast<void>(find_external_files(bytes));
  if (const auto nodes = read_file_nodes(bytes))
    static_cast<void>(write_annotations(bytes, std::vector<std::string>(nodes->size(), "halide@cpu")));
  Result<Graph> graph = import_onnx_bytes(bytes);
  if (!graph) return 0;
  fold_with_budget(*graph);
  if (!verify_graph(*graph)) std::abort();
  return 0;
}
