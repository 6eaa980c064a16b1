// Oracle: a model file run by ONNX Runtime itself.
//
// Covers: backends/onnxruntime/ evaluate.cc opened_model.cc
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "backends/onnxruntime/evaluate.h"
#include "onnx/write_onnx_model.h"
#include "tests/backends/onnxruntime/graphs.h"

namespace intarsia {
namespace {

using namespace test;

/// Model file in the test's folder; the destructor removes it.
struct ModelFile {
  std::string path = ::testing::TempDir() + "onnxruntime_oracle_" + std::to_string(getpid()) + ".onnx";
  explicit ModelFile(const Graph& graph) {
    const auto model = write_onnx_model(graph);
    EXPECT_TRUE(model) << error_of(model);
    std::ofstream(path, std::ios::binary) << model->bytes;
  }
  ~ModelFile() { std::remove(path.c_str()); }
};

Graph two_outputs() {
  GraphMaker g;
  const ValueType type = tensor_type(DType::f32, {Dim::named("n")});
  const ValueId a = g.input("a", type), b = g.input("b", type);
  const ValueId sum = g.node("Add", {a, b}, type);
  std::string sequence = "\x22\x06\x0a\x04\x0a\x02\x08\x01";  // TypeProto: sequence(tensor f32)
  const ValueId both = g.node("SequenceConstruct", {a, b}, {DType::undefined, std::nullopt, true, sequence});
  return g.finish({sum, both});
}

TEST(EvaluateWithOnnxRuntime, GivesAllOutputsByName) {
  const ModelFile file(two_outputs());
  const Tensor a = floats({2}, {1, 2}), b = floats({2}, {3, 4});
  const auto outputs = evaluate_with_onnxruntime(file.path, std::vector<NamedValue>{{"b", b}, {"a", a}});
  ASSERT_TRUE(outputs) << error_of(outputs);
  ASSERT_EQ(outputs->size(), 3u);
  EXPECT_EQ((*outputs)[0].name, "Add_0_out");
  EXPECT_EQ((*outputs)[0].tensor, floats({2}, {4, 6}));
  EXPECT_EQ((*outputs)[2].name, "SequenceConstruct_1_out[1]");
  EXPECT_EQ((*outputs)[2].tensor, b);
}

TEST(EvaluateWithOnnxRuntime, ErrorsNameTheFileAndTheInput) {
  const ModelFile file(two_outputs());
  const Tensor a = floats({2}, {1, 2});
  const std::string missing =
      error_of(evaluate_with_onnxruntime(file.path, std::vector<NamedValue>{{"a", a}}));
  EXPECT_TRUE(missing.starts_with(file.path)) << missing;
  EXPECT_TRUE(missing.ends_with("input 'b' is missing")) << missing;
  const std::string unknown =
      error_of(evaluate_with_onnxruntime(file.path, std::vector<NamedValue>{{"c", a}}));
  EXPECT_TRUE(unknown.ends_with("the model has no input 'c'; its inputs are: a, b")) << unknown;
  EXPECT_NE(error_of(evaluate_with_onnxruntime("/nowhere.onnx", {})), "");
}

}  // namespace
}  // namespace intarsia
