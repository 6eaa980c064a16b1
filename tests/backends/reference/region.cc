// Regions of the reference backend: planned and dynamically shaped values, outputs in place, damaged blobs,
// errors that name the culprit.
//
// Covers: backends/reference/ decode_plan.cc encode_plan.cc evaluate.cc load.cc plan_executable.cc
// plan_region.cc target.cc
#include <gtest/gtest.h>

#include "backends/reference/evaluate.h"
#include "backends/reference/kernel.h"
#include "backends/reference/load.h"
#include "backends/reference/region_plan.h"
#include "backends/reference/target.h"

namespace intarsia {
namespace {

// Kernels cannot write what they read: it may lie in a mapped file, or belong to the caller.
using InputElement = decltype(std::declval<const reference::KernelContext&>().input(0).as<float>()[0]);
static_assert(!std::is_assignable_v<InputElement, float>);

constexpr int opset = 21;

ValueType f32(SymbolicShape shape) { return {DType::f32, std::move(shape), false, {}}; }

Tensor floats(Shape shape, std::vector<float> items) {
  Tensor tensor(DType::f32, std::move(shape));
  std::ranges::copy(items, tensor.as<float>().begin());
  return tensor;
}

/// Makes z = relu(x + k); when `size` is not a number, its intermediates are allocated at run time.
Graph add_relu(Dim size) {
  Graph graph{.name = "region", .opsets = {{"", opset}}};
  const ValueId x = graph.add_value("x", f32({size}));
  const ValueId k = graph.add_constant("k", floats({1}, {-2}));
  const ValueId y = graph.add_value("y", f32({size}));
  const ValueId z = graph.add_value("z", f32({size}));
  graph.add_node({"add", "Add", "", opset, {x, k}, {y}, {}, {}});
  graph.add_node({"relu", "Relu", "", opset, {y}, {z}, {}, {}});
  graph.inputs = {x};
  graph.outputs = {z};
  return graph;
}

struct Loaded {
  CompiledRegion compiled;
  std::vector<ConstTensorView> constants;
  std::unique_ptr<Executable> executable;
  std::shared_ptr<void> workspace;
};

std::unique_ptr<Loaded> load(const Graph& graph) {
  auto loaded = std::make_unique<Loaded>();
  auto compiled = make_reference_target()->compile(graph, {}, {});
  EXPECT_TRUE(compiled) << compiled.error().message;
  loaded->compiled = std::move(*compiled);
  for (const Tensor& constant : loaded->compiled.constants) loaded->constants.push_back(constant.view());
  auto executable =
      reference_run_backend().load({std::as_bytes(std::span(loaded->compiled.blob)), loaded->constants});
  EXPECT_TRUE(executable) << executable.error().message;
  loaded->executable = std::move(*executable);
  loaded->workspace = allocate_aligned(loaded->compiled.workspace_bytes);
  return loaded;
}

Status run(const Loaded& loaded, std::vector<Input> inputs, std::vector<Output>& outputs) {
  return loaded.executable->run({inputs, outputs, static_cast<std::byte*>(loaded.workspace.get()), nullptr});
}

TEST(ReferenceRegion, PlansWhatHasASizeAndWritesInPlace) {
  const auto loaded = load(add_relu(Dim(3)));
  EXPECT_EQ(loaded->compiled.workspace_bytes, 64u);
  const Tensor x = floats({3}, {1, 2, 3}), z(DType::f32, {3});
  std::vector<Output> outputs{{z.view(), nullptr, false}};
  const Status ran = run(*loaded, {{x.view(), nullptr}}, outputs);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(outputs[0].tensor.data, z.data());
  EXPECT_EQ(z, floats({3}, {0, 0, 1}));
}

TEST(ReferenceRegion, AllocatesWhatHasNoSize) {
  const auto loaded = load(add_relu(Dim::named("n")));
  EXPECT_EQ(loaded->compiled.workspace_bytes, 0u);
  for (int64_t n : {1, 4}) {
    const Tensor x = floats({n}, std::vector<float>(static_cast<size_t>(n), 5));
    std::vector<Output> outputs{{{}, nullptr, true}};
    const Status ran = run(*loaded, {{x.view(), nullptr}}, outputs);
    ASSERT_TRUE(ran) << ran.error().message;
    ASSERT_NE(outputs[0].owner, nullptr);
    EXPECT_EQ(Tensor(outputs[0].tensor), floats({n}, std::vector<float>(static_cast<size_t>(n), 3)));
  }
}

TEST(ReferenceRegion, OutputsMayBeInputsConstantsOrListedTwice) {
  Graph graph = add_relu(Dim(1));
  graph.outputs = {ValueId{0}, ValueId{1}, ValueId{3}, ValueId{3}};
  const auto loaded = load(graph);
  const Tensor x = floats({1}, {5}), a(DType::f32, {1}), b(DType::f32, {1}), c(DType::f32, {1});
  std::vector<Output> outputs{{a.view()}, {b.view()}, {c.view()}, {{}, nullptr, true}};
  const Status ran = run(*loaded, {{x.view(), nullptr}}, outputs);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(a, floats({1}, {5}));
  EXPECT_EQ(b, floats({1}, {-2}));
  EXPECT_EQ(c, floats({1}, {3}));
  EXPECT_EQ(Tensor(outputs[3].tensor), c);
}

TEST(ReferenceRegion, AWrongSizeNamesTheNode) {
  const auto loaded = load(add_relu(Dim(3)));
  const Tensor x = floats({2}, {1, 2}), z(DType::f32, {3});
  std::vector<Output> outputs{{z.view(), nullptr, false}};
  const Status ran = run(*loaded, {{x.view(), nullptr}}, outputs);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "node 'add' (Add): output 0 is f32 2, planned as f32 3");
}

TEST(ReferenceRegion, PlansSurviveTheirBlob) {
  reference::RegionPlan plan;
  plan.values = {{.name = "a", .place = reference::Place::input},
                 {.name = "t", .place = reference::Place::text, .text = Tensor(DType::string, {2})},
                 {.name = "w",
                  .place = reference::Place::workspace,
                  .offset = 64,
                  .planned = {nullptr, DType::i64, {2, 2}}}};
  plan.values[1].text.as<std::string>()[1] = std::string("x\0y", 3);
  Attributes attributes;
  attributes.set("i", int64_t{-3});
  attributes.set("f", 1.5f);
  attributes.set("s", std::string("text\0more", 9));
  attributes.set("is", std::vector<int64_t>{1, 2});
  attributes.set("fs", std::vector<float>{});
  attributes.set("ss", std::vector<std::string>{"", "b"});
  attributes.set("t", floats({2}, {1, 2}));
  attributes.set("e", EncodedAttribute{"\x01\x02"});
  plan.calls = {{"n", "Op", "some.domain", 7, {0, reference::left_out, 1}, {2}, attributes}};
  plan.inputs = {0};
  plan.outputs = {2, 0};
  plan.workspace_bytes = 128;
  const std::string blob = reference::encode_plan(plan);
  const auto read = reference::decode_plan(std::as_bytes(std::span(blob)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->calls[0].attributes, attributes);
  EXPECT_EQ(read->calls[0].inputs, plan.calls[0].inputs);
  EXPECT_EQ(read->calls[0].domain, "some.domain");
  EXPECT_EQ(read->values[1].text, plan.values[1].text);
  EXPECT_EQ(read->values[2].planned.shape, (Shape{2, 2}));
  EXPECT_EQ(read->outputs, plan.outputs);
}

TEST(ReferenceRegion, DamagedBlobsAreErrorsOrPlans) {
  const auto compiled = make_reference_target()->compile(add_relu(Dim(3)), {}, {});
  ASSERT_TRUE(compiled);
  for (size_t i = 0; i < compiled->blob.size(); ++i) {
    // Padding may account for the last bytes.
    const auto cut = reference::decode_plan(std::as_bytes(std::span(compiled->blob)).first(i));
    EXPECT_TRUE(!cut || i + 8 > compiled->blob.size()) << i;
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string damaged = compiled->blob;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      (void)reference::decode_plan(std::as_bytes(std::span(damaged)));  // must not crash
    }
  }
}

TEST(ReferenceRegion, PlansOutsideTheirBoundsAreErrors) {
  using reference::Place;
  reference::RegionPlan plan;
  plan.values = {{.name = "a", .place = Place::input}, {.name = "b", .place = Place::output}};
  plan.calls = {{"n", "Relu", "", opset, {0}, {1}, {}}};
  plan.inputs = {0};
  plan.outputs = {1};
  auto error = [](const reference::RegionPlan& bad) {
    const std::string blob = reference::encode_plan(bad);
    const auto read = reference::decode_plan(std::as_bytes(std::span(blob)));
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(error(plan), "");
  auto bad = plan;
  bad.values[0].index = 1;
  EXPECT_EQ(error(bad), "damaged reference region: value 'a' has number 1 of 1");
  bad = plan;
  bad.calls[0].inputs = {1};
  EXPECT_EQ(error(bad), "damaged reference region: node 'n' reads value 1, which is not known");
  bad = plan;
  bad.calls[0].outputs = {0};
  EXPECT_EQ(error(bad), "damaged reference region: node 'n' writes value 0, which it must not");
  bad = plan;
  bad.values[1] = {
      .name = "b", .place = Place::workspace, .offset = 64, .planned = {nullptr, DType::f32, {1}}};
  bad.workspace_bytes = 64;
  EXPECT_EQ(error(bad),
            "damaged reference region: value 'b' of 4 bytes at 64 is not inside the workspace of 64 bytes");
}

TEST(ReferenceTarget, SaysWhyNot) {
  Graph graph = add_relu(Dim(3));
  const auto target = make_reference_target();
  EXPECT_TRUE(target->supports(graph, NodeId{0}, {}).yes);
  graph.nodes[0].op = "Frobnicate";
  EXPECT_EQ(target->supports(graph, NodeId{0}, {}).because, "no reference kernel for Frobnicate");
  graph.values[3].type.opaque = true;
  EXPECT_EQ(target->supports(graph, NodeId{1}, {}).because, "value 'z' is not a tensor");
}

TEST(EvaluateNode, GivesTheOutputs) {
  const Graph graph = add_relu(Dim(3));
  const Tensor x = floats({3}, {1, 2, 3});
  const Tensor* inputs[] = {&x, &*graph.values[1].constant};
  const auto outputs = reference::evaluate_node(graph.nodes[0], inputs);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[0], floats({3}, {-1, 0, 1}));
}

}  // namespace
}  // namespace intarsia
