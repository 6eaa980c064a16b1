// Writes text forms of models, as seeds: print_seeds OUT_FOLDER MODEL.onnx...
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "graph/print_graph.h"
#include "import/import_onnx.h"

int main(int count, char** arguments) {
  using namespace intarsia;
  if (count < 2) return 2;
  for (int i = 2; i < count; ++i) {
    const Result<Graph> graph = import_onnx(arguments[i]);
    if (!graph) continue;
    const std::filesystem::path folder = arguments[1], name = std::filesystem::path(arguments[i]).stem();
    std::ofstream(folder / (name.string() + ".graph")) << print_graph(*graph, {.inline_elements = 64});
  }
}
