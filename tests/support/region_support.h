// Small graphs for the tests of framework backends, and a region run as a session would run it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "device/executable.h"
#include "target/target.h"

namespace intarsia::test {

inline constexpr int opset = 21;

inline ValueType tensor_type(DType dtype, SymbolicShape shape) {
  return {dtype, std::move(shape), false, {}};
}
inline ValueType tensor_type(DType dtype, const Shape& shape) {
  return tensor_type(dtype, to_symbolic(shape));
}

template <typename T>
Tensor make_tensor(DType dtype, Shape shape, std::vector<T> items) {
  Tensor tensor(dtype, std::move(shape));
  std::ranges::copy(items, tensor.as<T>().begin());
  return tensor;
}
inline Tensor floats(Shape shape, std::vector<float> items) {
  return make_tensor(DType::f32, std::move(shape), items);
}
inline Tensor ints(std::vector<int64_t> items) {
  return make_tensor(DType::i64, {static_cast<int64_t>(items.size())}, items);
}
inline Tensor strings(std::vector<std::string> items) {
  return make_tensor(DType::string, {static_cast<int64_t>(items.size())}, items);
}

/// Builds graphs of one domain node by node: `auto y = g.node("Relu", {x}, type)`.
struct GraphMaker {
  std::string domain;
  int version = opset;
  Graph graph{.name = "region", .opsets = {{domain, version}}};

  ValueId input(std::string name, ValueType type) {
    const ValueId id = graph.add_value(std::move(name), std::move(type));
    graph.inputs.push_back(id);
    return id;
  }
  ValueId constant(std::string name, Tensor tensor) {
    return graph.add_constant(std::move(name), std::move(tensor));
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, ValueType type,
               Attributes attributes = {}) {
    return multi_node(op, std::move(inputs), {std::move(type)}, std::move(attributes))[0];
  }
  std::vector<ValueId> multi_node(const std::string& op, std::vector<ValueId> inputs,
                                  const std::vector<ValueType>& types, Attributes attributes = {}) {
    const std::string name = fmt::format("{}_{}", op, graph.nodes.size());
    std::vector<ValueId> outputs;
    for (const ValueType& type : types) {
      outputs.push_back(graph.add_value(
          outputs.empty() ? name + "_out" : fmt::format("{}_out{}", name, outputs.size()), type));
    }
    graph.add_node(Node{name, op, domain, version, std::move(inputs), outputs, {}, std::move(attributes)});
    return outputs;
  }
  Graph finish(std::vector<ValueId> outputs) {
    graph.outputs = std::move(outputs);
    return graph;
  }
};

inline std::string error_of(const auto& result) { return result ? std::string() : result.error().message; }

/// Compiled and loaded region, with everything that it points to.
struct LoadedRegion {
  CompiledRegion compiled;
  std::vector<ConstTensorView> constants;
  std::unique_ptr<Executable> executable;
};

inline Result<std::unique_ptr<LoadedRegion>> load_region(const Target& target, const RunBackend& backend,
                                                         const Graph& graph, int threads = 1) {
  auto region = std::make_unique<LoadedRegion>();
  region->compiled = TRY(target.compile(graph, {}, {}));
  for (const Tensor& constant : region->compiled.constants) region->constants.push_back(constant.view());
  LoadContext context{
      std::as_bytes(std::span(region->compiled.blob)), region->constants, nullptr, {}, threads};
  region->executable = TRY(backend.load(context));
  return region;
}

inline Input as_input(const Tensor& tensor) { return {tensor.view(), nullptr}; }
inline Output into(const Tensor& tensor) { return {tensor.view(), nullptr, false}; }
inline Output dynamic_output() { return {{}, nullptr, true}; }

inline Status run_region(const LoadedRegion& region, std::vector<Input> inputs,
                         std::vector<Output>& outputs) {
  RunContext context;
  context.inputs = inputs;
  context.outputs = outputs;
  return region.executable->run(context);
}

}  // namespace intarsia::test
