// Damaged ONNX models end in an error or in a graph that verifies and prints, never in a crash.
//
// Covers: src/import/ import_onnx.cc onnx_attributes.cc onnx_messages.cc onnx_subgraph.cc onnx_tensor.cc
#include <gtest/gtest.h>

#include <random>

#include "graph/parse_graph.h"
#include "graph/print_graph.h"
#include "graph/tensor_digest.h"
#include "graph/verify_graph.h"
#include "import/import_onnx.h"
#include "tests/support/imported_bytes.h"
#include "tests/support/onnx_writer.h"

namespace intarsia {
namespace {

using namespace onnx;
using Type = onnx::attribute::Type;

/// Makes a model with every kind of part.
std::string rich_model() {
  const std::string then_branch = branch({node_message("Add", {"t", "x"}, {"a"})}, "a");
  const std::string function = function_message(
      "F", {"p", "c"}, {"q"},
      {node_message("If", {"c"}, {"q"},
                    {attribute_graph("then_branch", branch({node_message("Relu", {"p"}, {"r"})}, "r")),
                     attribute_ref("k", "way", Type::i)})},
      {attribute_int("way", 3)});
  return model_message(
      {.nodes = {node_message("Constant", {}, {"k"}, {attribute_tensor("value", ints_message("", {1, 2}))}),
                 node_message("Exp", {"x"}, {"t"}),
                 node_message("F", {"t", "c"}, {"u"}, {attribute_int("way", 4)}, "local"),
                 node_message("If", {"c"}, {"v"}, {attribute_graph("then_branch", then_branch)}),
                 node_message("Sum", {"u", "v", "w", "s"}, {"y"})},
       .initializers = {floats_message("w", {1, 2})},
       .inputs = {input_x, value_message("c", DType::boolean, {})},
       .outputs = {output_y},
       .sparse_initializers = {sparse_message(floats_message("s", {5}), ints_message("", {1}), {2})},
       .value_infos = {value_message("t", DType::f32, {"n"})}},
      {function});
}

void import_damaged(const std::string& bytes) {
  const Result<Graph> graph = import_onnx_bytes(bytes);
  if (!graph) {
    ASSERT_FALSE(graph.error().message.empty());
    return;
  }
  const Status verified = verify_graph(*graph);
  ASSERT_TRUE(verified) << verified.error().message;
  const auto tensors = digest_tensors(*graph);
  const Result<Graph> parsed =
      parse_graph(print_graph(*graph), [&](uint64_t digest) -> Result<Tensor> { return tensors.at(digest); });
  ASSERT_TRUE(parsed) << parsed.error().message << "\n" << print_graph(*graph);
  ASSERT_TRUE(*parsed == *graph) << print_graph(*graph) << print_graph(*parsed);
}

/// Checks, in any build, that the reader does not trust a field to have the wire type that the format says.
TEST(DamagedModels, WrongWireTypes) {
  const GraphParts parts = {
      .nodes = {node_message("Relu", {"x"}, {"y"})}, .inputs = {input_x}, .outputs = {output_y}};
  const std::string wrong = "another wire type";
  expect_error(Message().number(model::graph, 1).bytes, wrong);
  expect_error(model_message(parts) + Message().text(model::ir_version, "8").bytes, "model");
  const std::string body = Message().number(graph::node, 5).bytes;
  expect_error(
      model_message({.nodes = {node_message("If", {"x"}, {"y"}, {attribute_graph("then_branch", body)})},
                     .inputs = {input_x},
                     .outputs = {output_y}}),
      wrong);
}

TEST(DamagedModels, Truncated) {
  const std::string model = rich_model();
  ASSERT_TRUE(import_onnx_bytes(model)) << import_onnx_bytes(model).error().message;
  for (size_t size = 0; size < model.size(); ++size) import_damaged(model.substr(0, size));
}

TEST(DamagedModels, FlippedBitsAndBytes) {
  const std::string model = rich_model();
  for (uint32_t seed = 1; seed <= 20000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    std::string damaged = model;
    for (uint32_t edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % damaged.size();
      if (random() % 2)
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
      else
        damaged[at] = static_cast<char>(random());
    }
    import_damaged(damaged);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace intarsia
