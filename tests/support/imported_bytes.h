// Models as bytes, and what importing them says.
#pragma once

#include <gtest/gtest.h>

#include "graph/print_graph.h"
#include "import/import_onnx.h"
#include "tests/support/onnx_writer.h"

namespace intarsia {

inline const std::string input_x = onnx::value_message("x", DType::f32, {2});
inline const std::string output_y = onnx::value_message("y");

inline void expect_error(const std::string& model, const std::string& message) {
  const Result<Graph> graph = import_onnx_bytes(model);
  ASSERT_FALSE(graph) << "want " << message << ", got\n" << print_graph(*graph);
  EXPECT_NE(graph.error().message.find(message), std::string::npos)
      << "want " << message << ", got " << graph.error().message;
}

}  // namespace intarsia
