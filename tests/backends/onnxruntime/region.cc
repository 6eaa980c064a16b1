// Regions in ONNX Runtime: what is compiled, and that buffers are used in place.
//
// Covers: backends/onnxruntime/ infer_types.cc load.cc session.cc target.cc
// src/onnx/ probe_node.cc write_onnx_model.cc
// src/onnx_region/ region_model.cc
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/onnxruntime/infer_types.h"
#include "base/protobuf.h"
#include "onnx/write_onnx_model.h"
#include "tests/backends/onnxruntime/graphs.h"
#include "tests/support/count_threads.h"

namespace intarsia {
namespace {

using namespace test;

Graph add_one(DType dtype, const Tensor& one) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(dtype, Shape{2, 2}));
  return g.finish({g.node("Add", {x, g.constant("one", one)}, tensor_type(dtype, Shape{2, 2}))});
}

TEST(OnnxRuntimeRegion, RunsAndWritesInPlace) {
  auto region = load_region(add_one(DType::f32, floats({1}, {1})));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), y(DType::f32, {2, 2});
  std::vector<Output> outputs{into(y)};
  const Status ran = run_region(**region, {as_input(x)}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(outputs[0].tensor.data, y.data());  // no buffer of the library's own
  EXPECT_EQ(outputs[0].owner, nullptr);
  EXPECT_EQ(y, floats({2, 2}, {2, 3, 4, 5}));
}

// Checks that misaligned buffers work: an input's own address reaches the operator.
TEST(OnnxRuntimeRegion, TakesUnalignedBuffers) {
  auto region = load_region(add_one(DType::f32, floats({1}, {1})));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor memory(DType::f32, {16});
  TensorView x{memory.as<float>().data() + 1, DType::f32, {2, 2}};
  TensorView y{memory.as<float>().data() + 7, DType::f32, {2, 2}};
  std::ranges::copy(std::vector<float>{1, 2, 3, 4}, x.as<float>().begin());
  std::vector<Output> outputs{{y, nullptr, false}};
  const Status ran = run_region(**region, {{x, nullptr}}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(Tensor(y), floats({2, 2}, {2, 3, 4, 5}));
}

TEST(OnnxRuntimeRegion, AdoptsDynamicOutputs) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{4}));
  auto region =
      load_region(g.finish({g.node("NonZero", {x}, tensor_type(DType::i64, {Dim(1), Dim::unknown()}))}));
  ASSERT_TRUE(region) << error_of(region);
  std::vector<Output> outputs{dynamic_output()};
  const Status ran = run_region(**region, {as_input(floats({4}, {0, 5, 0, 7}))}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  ASSERT_NE(outputs[0].owner, nullptr);
  (*region)->executable.reset();  // the output outlives its session
  EXPECT_EQ(Tensor(outputs[0].tensor), make_tensor<int64_t>(DType::i64, {1, 2}, {1, 3}));
}

TEST(OnnxRuntimeRegion, BigConstantsStayOutsideTheModel) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{1, 256}));
  Tensor weights(DType::f32, {256, 256});
  for (int i = 0; i < 256; ++i) weights.as<float>()[static_cast<size_t>(i * 257)] = 2;  // twice the identity
  const ValueId w = g.constant("w", weights);
  const ValueId t =
      g.node("Transpose", {w}, tensor_type(DType::f32, Shape{256, 256}));  // folded by the optimizer
  const ValueId y = g.node("MatMul", {x, t}, tensor_type(DType::f32, Shape{1, 256}));
  auto region = load_region(g.finish({y}));
  ASSERT_TRUE(region) << error_of(region);
  ASSERT_EQ((*region)->compiled.constants.size(), 1u);
  EXPECT_EQ((*region)->compiled.constants[0].data(), weights.data());
  EXPECT_LT((*region)->compiled.blob.size(), 2000u);
  Tensor in(DType::f32, {1, 256}), out(DType::f32, {1, 256});
  for (size_t i = 0; i < 256; ++i) in.as<float>()[i] = static_cast<float>(i);
  std::vector<Output> outputs{into(out)};
  const Status ran = run_region(**region, {as_input(in)}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(out.as<float>()[i], 2.0f * static_cast<float>(i));
}

TEST(OnnxRuntimeRegion, ConvertsStringsBothWays) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::string, Shape{2}));
  Attributes upper;
  upper.set("case_change_action", std::string("UPPER"));
  upper.set("locale", std::string("C"));
  const ValueId y = g.node("StringNormalizer", {x}, tensor_type(DType::string, Shape{2}), upper);
  const ValueId z =
      g.node("Concat", {x, y, g.constant("c", strings({"!"}))}, tensor_type(DType::string, Shape{5}), [] {
        Attributes axis;
        axis.set("axis", int64_t{0});
        return axis;
      }());
  auto region = load_region(g.finish({y, z}));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor fixed(DType::string, {2});
  std::vector<Output> outputs{into(fixed), dynamic_output()};
  const std::string with_zero("c\0d", 3);
  const Status ran = run_region(**region, {as_input(strings({"ab", with_zero}))}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(fixed.as<std::string>()[0], "AB");
  EXPECT_EQ(Tensor(outputs[1].tensor).as<std::string>()[1], with_zero);
  EXPECT_EQ(Tensor(outputs[1].tensor).as<std::string>()[4], "!");
}

TEST(OnnxRuntimeRegion, TakesEveryTensorDType) {
  std::string refused;
  for (int number = 1; number < dtype_count; ++number) {
    const auto dtype = static_cast<DType>(number);
    GraphMaker g;
    const ValueId x = g.input("x", tensor_type(dtype, Shape{2, 3}));
    auto region = load_region(g.finish({g.node("Identity", {x}, tensor_type(dtype, Shape{2, 3}))}));
    if (!region) {
      refused += fmt::format("{} ", dtype_name(dtype));
      continue;
    }
    Tensor in(dtype, {2, 3}), out(dtype, {2, 3});
    if (dtype == DType::string)
      in.as<std::string>()[5] = "x";
    else
      std::memset(in.data(), 0x01, in.bytes());
    std::vector<Output> outputs{into(out)};
    const Status ran = run_region(**region, {as_input(in)}, outputs);
    ASSERT_TRUE(ran) << dtype_name(dtype) << ": " << error_of(ran);
    EXPECT_EQ(in, out) << dtype_name(dtype);
  }
  EXPECT_EQ(refused, "c64 c128 u4 i4 f4e2m1 f8e8m0 u2 i2 ");  // ONNX Runtime has no Identity for them
}

TEST(OnnxRuntimeRegion, PackedIntegers) {
  for (DType dtype : {DType::i4, DType::u4}) {
    GraphMaker g;
    const ValueId x = g.input("x", tensor_type(dtype, Shape{3}));
    const ValueId scale = g.constant("scale", floats({}, {0.5f}));
    auto region =
        load_region(g.finish({g.node("DequantizeLinear", {x, scale}, tensor_type(DType::f32, Shape{3}))}));
    ASSERT_TRUE(region) << error_of(region);
    const Tensor in(dtype, {3}), out(DType::f32, {3});
    in.as<uint8_t>()[0] = 0x21;  // the first element lies in the low half
    in.as<uint8_t>()[1] = 0x03;
    std::vector<Output> outputs{into(out)};
    const Status ran = run_region(**region, {as_input(in)}, outputs);
    ASSERT_TRUE(ran) << error_of(ran);
    EXPECT_EQ(out, floats({3}, {0.5f, 1, 1.5f}));
  }
}

// Checks that the caller's buffers are written even though the library may drop or alias nodes that do
// nothing.
TEST(OnnxRuntimeRegion, NodesThatDoNothingStillWrite) {
  GraphMaker g;
  const ValueType type = tensor_type(DType::f32, Shape{2});
  const ValueId x = g.input("x", type);
  const ValueId shape = g.constant("shape", ints({2}));
  const ValueId folded = g.node("Identity", {g.constant("c", floats({2}, {7, 8}))}, type);
  const ValueId reshaped = g.node("Reshape", {x, shape}, type);
  const ValueId relu = g.node("Relu", {x}, type), same = g.node("Identity", {relu}, type);
  const ValueId dropped = g.node("Dropout", {x}, type);
  const std::vector<ValueId> all{folded, reshaped, relu, same, dropped};
  auto region = load_region(g.finish(all));
  ASSERT_TRUE(region) << error_of(region);
  std::vector<Tensor> tensors;
  std::vector<Output> outputs;
  for (size_t i = 0; i < all.size(); ++i) outputs.push_back(into(tensors.emplace_back(DType::f32, Shape{2})));
  const Tensor in = floats({2}, {-3, 5});
  const Status ran = run_region(**region, {as_input(in)}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  const std::vector<std::vector<float>> want{{7, 8}, {-3, 5}, {0, 5}, {0, 5}, {-3, 5}};
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(tensors[i], floats({2}, want[i])) << i;
}

TEST(OnnxRuntimeRegion, EmptyTensorsAndScalars) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, {Dim::named("n")}));
  const ValueId s = g.input("s", tensor_type(DType::f32, Shape{}));
  const ValueId y = g.node("Add", {x, s}, tensor_type(DType::f32, {Dim::named("n")}));
  auto region = load_region(g.finish({y}));
  ASSERT_TRUE(region) << error_of(region);
  TensorView none{nullptr, DType::f32, {0}};
  std::vector<Output> outputs{{none, nullptr, false}};
  Status ran = run_region(**region, {{none, nullptr}, as_input(floats({}, {1}))}, outputs);
  EXPECT_TRUE(ran) << error_of(ran);
  const Tensor out(DType::f32, {2});
  outputs = {into(out)};
  ran = run_region(**region, {as_input(floats({2}, {1, 2})), as_input(floats({}, {1}))}, outputs);
  EXPECT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(out, floats({2}, {2, 3}));
}

TEST(OnnxRuntimeRegion, AnOutputMayBeAnInputOrAConstant) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{2}));
  const ValueId c = g.constant("c", floats({2}, {7, 8}));
  const ValueId y = g.node("Relu", {x}, tensor_type(DType::f32, Shape{2}));
  auto region = load_region(g.finish({x, c, y}));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor a(DType::f32, {2}), b(DType::f32, {2}), d(DType::f32, {2});
  std::vector<Output> outputs{into(a), into(b), into(d)};
  const Status ran = run_region(**region, {as_input(floats({2}, {-1, 2}))}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(a, floats({2}, {-1, 2}));
  EXPECT_EQ(b, floats({2}, {7, 8}));
  EXPECT_EQ(d, floats({2}, {0, 2}));
}

/// Makes an AttributeProto that contains a graph from the ModelProto of that graph.
EncodedAttribute encode_subgraph(const std::string& name, const Graph& graph) {
  const OnnxModel model = *write_onnx_model(graph);
  protozero::pbf_reader message(model.bytes);
  message.next(7);  // ModelProto.graph
  EncodedAttribute encoded;
  protozero::pbf_writer attribute(encoded.bytes);
  attribute.add_string(1, name);
  attribute.add_message(6, message.get_view());
  attribute.add_enum(20, 5);
  return encoded;
}

/// Makes the body of a branch: `op(k)`, where k is a value of the outer graph.
Graph branch(const std::string& op) {
  GraphMaker g;
  const ValueId k = g.graph.add_value("k");  // no input and no producer: captured by name
  Graph body = g.finish({g.node(op, {k}, tensor_type(DType::f32, Shape{2}))});
  body.value(body.outputs[0]).name = op + "_result";
  return body;
}

TEST(OnnxRuntimeRegion, SubgraphsReadOuterValuesByName) {
  for (bool is_constant : {false, true}) {
    GraphMaker g;
    const ValueId condition = g.input("condition", tensor_type(DType::boolean, Shape{}));
    const ValueId k =
        is_constant ? g.constant("k", floats({2}, {-1, 4})) : g.input("k", tensor_type(DType::f32, Shape{2}));
    Attributes branches;
    branches.set("then_branch", encode_subgraph("then_branch", branch("Abs")));
    branches.set("else_branch", encode_subgraph("else_branch", branch("Neg")));
    const ValueId y = g.node("If", {condition}, tensor_type(DType::f32, Shape{2}), branches);
    g.graph.nodes[0].captures = {k};
    const Graph graph = g.finish({y});
    const Support support = make_onnxruntime_target()->supports(graph, NodeId{0}, {});
    EXPECT_TRUE(support.yes) << support.because;
    auto region = load_region(graph);
    ASSERT_TRUE(region) << error_of(region);
    for (bool taken : {true, false}) {
      std::vector<Input> inputs{as_input(make_tensor<bool>(DType::boolean, {}, {taken}))};
      const Tensor outer = floats({2}, {-1, 4}), flag = make_tensor<bool>(DType::boolean, {}, {taken});
      inputs = {as_input(flag)};
      if (!is_constant) inputs.push_back(as_input(outer));
      const Tensor out(DType::f32, {2});
      std::vector<Output> outputs{into(out)};
      const Status ran = run_region(**region, inputs, outputs);
      ASSERT_TRUE(ran) << error_of(ran);
      EXPECT_EQ(out, taken ? floats({2}, {1, 4}) : floats({2}, {1, -4}));
    }
  }
}

TEST(OnnxRuntimeRegion, ManyThreadsRunOneExecutable) {
  auto region = load_region(add_one(DType::f32, floats({1}, {1})), 2);
  ASSERT_TRUE(region) << error_of(region);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const float start = static_cast<float>(t);
      const Tensor x = floats({2, 2}, {start, start, start, start}), y(DType::f32, {2, 2});
      for (int i = 0; i < 200; ++i) {
        std::ranges::fill(y.as<float>(), 0.0f);
        std::vector<Output> outputs{into(y)};
        if (!run_region(**region, {as_input(x)}, outputs) || y.as<float>()[3] != start + 1) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(OnnxRuntimeRegion, ErrorsName) {
  auto region = load_region(add_one(DType::f32, floats({1}, {1})));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), wrong(DType::f32, {3, 2});
  std::vector<Output> outputs{into(wrong)};
  EXPECT_NE(error_of(run_region(**region, {as_input(x)}, outputs)), "");
  outputs = {};
  EXPECT_EQ(error_of(run_region(**region, {as_input(x)}, outputs)),
            "the ONNX Runtime region has 1 inputs and 1 outputs, got 1 and 0");
}

TEST(OnnxRuntimeRegion, RegionsOfAsManyThreadsShareOnePool) {
  const auto target = make_onnxruntime_target();
  const auto load = [&] {
    auto region = load_region(*target, onnxruntime_run_backend(), add_one(DType::f32, floats({1}, {1})), 2);
    EXPECT_TRUE(region) << error_of(region);
    return std::move(*region);
  };
  const auto first = load();
  const int threads = threads_of_this_process();
  std::vector<std::unique_ptr<LoadedRegion>> more;
  for (int i = 0; i < 8; ++i) more.push_back(load());
  EXPECT_EQ(threads_of_this_process(), threads);
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), y(DType::f32, {2, 2});
  std::vector<Output> outputs{into(y)};
  ASSERT_TRUE(run_region(*more.back(), {as_input(x)}, outputs));
  EXPECT_EQ(y, floats({2, 2}, {2, 3, 4, 5}));
}

TEST(OnnxRuntimeRegion, ThreadsStayOnTheirCores) {
  const CoreSet all = CoreSet::of_this_thread();
  const CoreSet first = CoreSet::parse(all.text().substr(0, all.text().find_first_of("-+"))).value();
  const auto compiled = make_onnxruntime_target()->compile(add_one(DType::f32, floats({1}, {1})), {}, {});
  ASSERT_TRUE(compiled) << error_of(compiled);
  std::vector<ConstTensorView> constants;
  for (const Tensor& constant : compiled->constants) constants.push_back(constant.view());
  const auto held = [] {
    int count = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream status(task.path() / "status");
      for (std::string line; std::getline(status, line);) count += line == "Cpus_allowed_list:\t0";
    }
    return count;
  };
  const int before = held();
  LoadContext context{.blob = std::as_bytes(std::span(compiled->blob)), .constants = constants};
  context.threads = 2;
  context.cores = &first;
  const auto region = onnxruntime_run_backend().load(context);
  ASSERT_TRUE(region) << error_of(region);
  if (first.text() != "0" || all.size() < 2) GTEST_SKIP() << "wants CPU 0 and another";
  for (int i = 0; i < 200 && held() == before; ++i)  // a thread binds itself when it has started
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(held(), before + 1);
  const int threads = threads_of_this_process();
  const auto same = onnxruntime_run_backend().load(context);
  ASSERT_TRUE(same) << error_of(same);
  EXPECT_EQ(threads_of_this_process(), threads);  // the second region shares the first one's pool
  context.cores = &all;
  const auto other = onnxruntime_run_backend().load(context);
  ASSERT_TRUE(other) << error_of(other);
  EXPECT_EQ(threads_of_this_process(), threads + 1);
}

TEST(OnnxRuntimeRegion, DamagedBlobsAreErrors) {
  const auto compiled = make_onnxruntime_target()->compile(add_one(DType::f32, floats({1}, {1})), {}, {});
  ASSERT_TRUE(compiled);
  for (size_t bytes = 0; bytes + 16 < compiled->blob.size(); bytes += 7) {
    LoadContext context{std::as_bytes(std::span(compiled->blob)).first(bytes)};
    EXPECT_FALSE(onnxruntime_run_backend().load(context)) << bytes;
  }
}

TEST(OnnxRuntimeTarget, RefusesWhatTheLibraryLacks) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{2}));
  const ValueId y = g.node("Frobnicate", {x}, {});
  const ValueId z = g.node("Relu", {y}, {});
  const Graph graph = g.finish({z});
  const auto target = make_onnxruntime_target();
  const Support foreign = target->supports(graph, NodeId{0}, {});
  EXPECT_FALSE(foreign.yes);
  EXPECT_NE(foreign.because.find("Frobnicate"), std::string::npos) << foreign.because;
  const auto compiled = target->compile(graph, {}, {});
  EXPECT_NE(error_of(compiled).find("Frobnicate"), std::string::npos) << error_of(compiled);
}

TEST(OnnxRuntimeTarget, RefusesDTypesWithoutAKernel) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::c64, Shape{2}));
  const Support support =
      make_onnxruntime_target()->supports(g.finish({g.node("Sin", {x}, {})}), NodeId{0}, {});
  EXPECT_FALSE(support.yes);
  EXPECT_NE(support.because, "");
}

TEST(OnnxRuntimeTarget, AsksWithTheProducersOfUnknownTypes) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{2}));
  const ValueId y = g.node("Relu", {x}, {});  // its type is not inferred
  const ValueId z = g.node("Neg", {y}, {});
  const Support support = make_onnxruntime_target()->supports(g.finish({z}), NodeId{1}, {});
  EXPECT_TRUE(support.yes) << support.because;
}

TEST(InferTypes, AsksTheLibrary) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, {Dim::named("n"), Dim(3)}));
  const ValueId t = g.node("Transpose", {x}, {});
  const ValueId s = g.node("SequenceConstruct", {t, t}, {});
  const ValueId f = g.node("Frobnicate", {x}, {});
  Graph graph = g.finish({t, s, f});
  for (uint32_t i = 0; i < 3; ++i) {
    const Status inferred = infer_types_with_onnxruntime(graph, NodeId{i});
    ASSERT_TRUE(inferred) << error_of(inferred);
  }
  EXPECT_EQ(print_type(graph.value(t).type), "f32[3,n]");
  EXPECT_TRUE(graph.value(s).type.opaque);
  EXPECT_EQ(graph.value(s).type.encoded, "\x22\x06\x0a\x04\x0a\x02\x08\x01");  // sequence(tensor f32)
  EXPECT_EQ(graph.value(f).type, ValueType{});
}

TEST(WriteOnnxModel, TwoVersionsOfOneDomainAreAnError) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{2}));
  const ValueId y = g.node("Relu", {g.node("Neg", {x}, {})}, {});
  g.graph.nodes[1].version = 13;
  EXPECT_EQ(
      error_of(write_onnx_model(g.finish({y}))),
      "nodes 'Neg_0' and 'Relu_1' want versions 21 and 13 of the operator set ''; one model has one version");
}

TEST(WriteOnnxModel, AnInputWithoutATypeIsAnError) {
  GraphMaker g;
  const ValueId x = g.input("x", {});
  EXPECT_EQ(error_of(write_onnx_model(g.finish({g.node("Relu", {x}, {})}))),
            "the type of value 'x' is not known, so no model can have it as an input");
}

}  // namespace
}  // namespace intarsia
