// Arbitrary bytes as the text form: what parses prints and parses to the same graph, and its first passes do
// not crash.
//
// Covers: src/graph/ parse_graph.cc parse_tensor.cc print_graph.cc text_scanner.cc text_words.cc
#include <cstdint>
#include <cstdlib>

#include "graph/parse_graph.h"
#include "graph/print_graph.h"
#include "graph/tensor_digest.h"
#include "graph/verify_graph.h"
#include "tests/fuzz/fold_with_budget.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intarsia;
  Result<Graph> graph = parse_graph({reinterpret_cast<const char*>(data), size});
  if (!graph) return 0;
  const auto tensors = digest_tensors(*graph);
  const auto resolve = [&](uint64_t digest) -> Result<Tensor> { return tensors.at(digest); };
  const Result<Graph> again = parse_graph(print_graph(*graph), resolve);
  if (!again || !(*again == *graph)) std::abort();
  fold_with_budget(*graph);
  if (!verify_graph(*graph)) std::abort();
  return 0;
}
