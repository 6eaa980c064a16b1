// Detection, down to the node, of a backend that computes one operator as another.
//
// Covers: src/measure/ bisect_model.cc compare_tensors.cc evaluate_graph.cc
#include "measure/bisect_model.h"

#include <gtest/gtest.h>

#include <fstream>

#include "backends/reference/evaluate.h"
#include "backends/reference/load.h"
#include "backends/reference/target.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

/// Reference backend that computes Softsign as Tanh; with `only_fused`, only in regions that do not return
/// its value.
class WrongTarget : public Target {
 public:
  explicit WrongTarget(bool only_fused) : Target({.name = "reference"}), only_fused_(only_fused) {}
  Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const override {
    return right_->supports(graph, node, device);
  }
  Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                 const CompileOptions& options) const override {
    Graph wrong = region;
    for (Node& node : wrong.nodes) {
      const bool is_output = std::ranges::find(wrong.outputs, node.outputs[0]) != wrong.outputs.end();
      if (node.op == "Softsign" && !(only_fused_ && is_output)) node.op = "Tanh";
    }
    return right_->compile(wrong, device, options);
  }

 private:
  std::unique_ptr<Target> right_ = make_reference_target();
  bool only_fused_;
};

/// Makes a model of 40 nodes in a row; number 23 is the Softsign.
std::string chain_model() {
  using namespace onnx;
  Messages nodes;
  for (int i = 0; i < 40; ++i) {
    const std::string op = i < 10       ? "Abs"
                           : i < 23     ? "Sqrt"
                           : i == 23    ? "Softsign"
                           : i % 2 == 0 ? "Sigmoid"
                                        : "Neg";
    const auto value = [](int at) {
      return at == 0 ? std::string("x") : at == 40 ? std::string("y") : fmt::format("v{}", at);
    };
    nodes.push_back(node_message(op, {value(i)}, {value(i + 1)}, {}, "", fmt::format("{}_{}", op, i)));
  }
  return model_message(
      {.nodes = nodes, .inputs = {value_message("x", DType::f32, {5})}, .outputs = {value_message("y")}});
}

std::optional<BadNode> bisect(bool only_fused) {
  const test::TestFolder folder;
  const std::string path = folder / "chain.onnx";
  std::ofstream(path, std::ios::binary) << chain_model();
  CompileServices services;
  services.backends.push_back(std::make_unique<WrongTarget>(only_fused));
  services.evaluate = reference::evaluate_node;
  const RunBackend backend = reference_run_backend();
  CheckRequest request;
  request.path = path;
  request.tolerance = {0, 1e-7};
  const Oracle oracle{"reference", {}, [](const Graph& graph, auto inputs) {
                        return evaluate_graph(graph, inputs, reference::evaluate_node);
                      }};
  const auto found = find_first_bad_node(request, {services, {&backend, 1}, oracle});
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::nullopt;
}

TEST(BisectModel, FindsTheNode) {
  const std::optional<BadNode> found = bisect(false);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "Softsign_23");
  EXPECT_TRUE(found->exact);
  EXPECT_EQ(found->after, "Sqrt_22");
}

TEST(BisectModel, SaysWhenOnlyFusionIsWrong) {
  const std::optional<BadNode> found = bisect(true);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->exact);
  EXPECT_EQ(found->after, "Sqrt_21") << "the last right value that was looked at";
}

}  // namespace
}  // namespace intarsia
