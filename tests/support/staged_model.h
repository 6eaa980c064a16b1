// Small convolutional model with a value that skips a stage, an input that enters late and an output that
// leaves early, compiled to stages; and a comparison of these with the whole.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>

#include "backends/reference/evaluate.h"
#include "compile/compile_model.h"
#include "program/read_program.h"
#include "runtime/session.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/test_folder.h"

namespace intarsia {

/// Fixture for x -> conv -> relu (r) -> conv (c2) -> sum = c2 + r -> conv -> y; late is added at the end; r
/// leaves early.
class StagedModel : public testing::Test {
 protected:
  StagedModel() {
    request.model_path = folder_ / "model.onnx";
    request.program_path = folder_ / "model.so";
    request.tune = Tune::off;
    request.objective = Objective::throughput;
    services.evaluate = reference::evaluate_node;
    onnx::Messages nodes, weights;
    onnx::Message pads = onnx::attribute_message("pads", onnx::attribute::Type::ints);
    for (int i = 0; i < 4; ++i) pads.number(onnx::attribute::ints, 1);
    const auto convolve = [&](const std::string& from, const std::string& to) {
      const std::string weight = "w_" + to;
      nodes.push_back(onnx::node_message("Conv", {from, weight}, {to}, {pads.bytes}, "", "conv_" + to));
      std::vector<float> numbers(4 * 4 * 9);
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>((i * 7 + weights.size()) % 11) / 11.0f - 0.4f;
      const std::string raw(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
      weights.push_back(onnx::tensor_message(weight, DType::f32, {4, 4, 3, 3}, raw));
    };
    convolve("x", "c1");
    nodes.push_back(onnx::node_message("Relu", {"c1"}, {"r"}, {}, "", "relu"));
    convolve("r", "c2");
    nodes.push_back(onnx::node_message("Add", {"c2", "r"}, {"sum"}, {}, "", "sum"));
    convolve("sum", "c3");
    nodes.push_back(onnx::node_message("Add", {"c3", "late"}, {"y"}, {}, "", "last"));
    const auto input = [](const char* name) { return onnx::value_message(name, DType::f32, {1, 4, 6, 6}); };
    std::ofstream(request.model_path, std::ios::binary)
        << onnx::model_message({.nodes = nodes,
                                .initializers = weights,
                                .inputs = {input("x"), input("late")},
                                .outputs = {onnx::value_message("y"), onnx::value_message("r")}});
  }

  CompileResult compile() {
    Result<CompileResult> result = compile_model(request, services);
    EXPECT_TRUE(result) << result.error().message;
    return std::move(*result);
  }

  std::string error() const {
    const Result<CompileResult> result = compile_model(request, services);
    return result ? "" : result.error().message;
  }

  /// Runs a function on the values by name, and adds its outputs to them.
  static void run(Session& session, std::map<std::string, Tensor>& values) {
    const fbs::FunctionT& function = *session.program().functions[0].function;
    std::vector<NamedTensor> inputs, outputs;
    for (uint32_t id : function.inputs) {
      const std::string& name = function.values[id]->name;
      ASSERT_TRUE(values.contains(name)) << name;
      inputs.push_back({name, values.at(name).view(), nullptr});
    }
    for (uint32_t id : function.outputs) {
      const fbs::ValueT& value = *function.values[id];
      const auto [at, is_new] =
          values.insert_or_assign(value.name, Tensor(static_cast<DType>(value.dtype), value.dims));
      outputs.push_back({value.name, at->second.view(), nullptr});
    }
    const Status status = session.run("", inputs, outputs);
    ASSERT_TRUE(status) << status.error().message;
  }

  static std::map<std::string, Tensor> filled_inputs() {
    std::map<std::string, Tensor> values;
    for (const char* name : {"x", "late"}) {
      Tensor tensor(DType::f32, {1, 4, 6, 6});
      float next = *name == 'x' ? -2 : 3;
      for (float& number : tensor.as<float>()) number = next = next * 0.7f + 0.3f;
      values.emplace(name, std::move(tensor));
    }
    return values;
  }

  /// Compares running all stages in turn with running the whole; returns the number of stages.
  size_t compare_with_whole(const RunBackend& backend) const {
    const auto program = load_program(request.program_path, {&backend, 1});
    EXPECT_TRUE(program) << program.error().message;
    std::map<std::string, Tensor> whole = filled_inputs(), parts = filled_inputs();
    Result<Session> session = Session::create(bind_program(*program, {}).value());
    run(*session, whole);
    const auto& stages = (*program)->description().functions[0]->stages;
    for (uint32_t stage = 0; stage < stages.size(); ++stage) {
      const auto bound = bind_program(*program, {.devices = {}, .stage = StageChoice{.stage = stage}});
      EXPECT_TRUE(bound) << bound.error().message;
      Result<Session> part = Session::create(*bound);
      run(*part, parts);
    }
    for (const char* name : {"y", "r"}) {
      const TensorView one = whole.at(name).view(), other = parts.at(name).view();
      EXPECT_EQ(std::memcmp(one.data, other.data, one.bytes()), 0) << name;
    }
    return stages.size();
  }

  CompileRequest request;
  CompileServices services;
  const test::TestFolder folder_;
};

}  // namespace intarsia
