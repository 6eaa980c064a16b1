// Checks parse_graph(print_graph(g)) == g for every .onnx file in folders: model_text FOLDER...
//
// Covers: src/graph/ parse_graph.cc parse_tensor.cc print_graph.cc tensor_digest.cc
#include <cstdio>
#include <filesystem>

#include "graph/parse_graph.h"
#include "graph/print_graph.h"
#include "graph/tensor_digest.h"
#include "import/import_onnx.h"

namespace intarsia {
namespace {

Status check_round_trip(const Graph& graph) {
  const auto tensors = digest_tensors(graph);
  const auto resolve = [&](uint64_t digest) -> Result<Tensor> {
    auto at = tensors.find(digest);
    if (at == tensors.end()) return fail("no tensor has the digest {:016x}", digest);
    return at->second;
  };
  const std::string text = print_graph(graph);
  const Graph again = TRY(parse_graph(text, resolve));
  if (!(again == graph) || print_graph(again) != text) return fail("became another graph:\n{}", text);
  return {};
}

int check_folder(const std::filesystem::path& folder, int& checked) {
  int failed = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    const Result<Graph> graph = import_onnx(entry.path().string());
    if (!graph) continue;  // refusals are a concern of the importer's own tests
    ++checked;
    if (const Status status = check_round_trip(*graph); !status) {
      std::printf("FAIL %s: %s\n", entry.path().c_str(), status.error().message.c_str());
      ++failed;
    }
  }
  return failed;
}

}  // namespace
}  // namespace intarsia

int main(int count, char** arguments) {
  int checked = 0, failed = 0;
  for (int i = 1; i < count; ++i) failed += intarsia::check_folder(arguments[i], checked);
  std::printf("%d models, %d failed\n", checked, failed);
  return failed > 0 || checked == 0;
}
