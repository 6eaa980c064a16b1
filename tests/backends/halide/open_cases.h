// Graphs of every kind of node over open sizes, with these sizes and others.
#pragma once

#include <random>
#include <regex>

#include "tests/backends/halide/cases.h"
#include "tests/support/halide_support.h"

namespace intarsia::test {

#include "tests/backends/halide/open_cases.inc"
#include "tests/backends/halide/open_processor_cases.inc"

/// Returns a graph with these sizes, or with open ones.
inline Result<Graph> graph_of(const char* nodes, const std::string& rows, const std::string& columns) {
  std::string text = std::regex_replace(nodes, std::regex("\\br\\b(?=[,\\]])"), rows);
  text = std::regex_replace(text, std::regex("\\bc\\b(?=[,\\]])"), columns);
  if (!text.contains("output %")) text += "\noutput %y";
  return make_graph("graph \"g\" opsets {\"\": 17}\n" + text + "\n");
}

/// Returns random inputs of a graph with these sizes; lengths of sequences are at most as many as rows.
inline std::vector<Tensor> random_inputs(const Graph& open, uint64_t seed, int64_t rows, int64_t columns) {
  std::vector<Tensor> inputs;
  for (ValueId input : open.inputs) {
    const ValueType& type = open.value(input).type;
    SymbolicShape sizes = *type.shape;
    for (Dim& size : sizes) size = size.substitute({{"rows", rows}, {"columns", columns}});
    inputs.push_back(random_tensor(type.dtype, *static_shape(sizes), ++seed));
    if (open.value(input).name != "lengths") continue;
    auto fill = [random = std::mt19937_64(seed), rows](auto lengths) mutable {
      for (auto& length : lengths)
        length = static_cast<std::remove_reference_t<decltype(length)>>(random() %
                                                                        static_cast<uint64_t>(rows + 1));
    };
    if (type.dtype == DType::i64)
      fill(inputs.back().as<int64_t>());
    else
      fill(inputs.back().as<int32_t>());
  }
  return inputs;
}

}  // namespace intarsia::test
