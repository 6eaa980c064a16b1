// Regions in OpenVINO: what is compiled, and that buffers are used in place.
//
// Covers: backends/openvino/ checked_session.cc complete_model.cc load.cc session.cc tensor.cc
// profile_model.cc target.cc
#include <atomic>
#include <cmath>
#include <thread>

#include "backends/openvino/complete_model.h"
#include "backends/openvino/profile_model.h"
#include "tests/backends/openvino/graphs.h"

namespace intarsia {
namespace {

using namespace test;

std::vector<float> values(const Tensor& tensor) {
  const std::span<float> items = tensor.as<float>();
  return {items.begin(), items.end()};
}

TEST(OpenVinoRegion, RunsAndWritesInPlace) {
  auto region = load_region(add_one(DType::f32, floats({1}, {1})));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), first(DType::f32, {2, 2}), second(DType::f32, {2, 2});
  for (const Tensor& y : {first, second, first}) {  // another buffer, and then the first one again
    std::ranges::fill(y.as<float>(), 0.0f);
    std::vector<Output> outputs{into(y)};
    const Status ran = run_region(**region, {as_input(x)}, outputs);
    ASSERT_TRUE(ran) << error_of(ran);
    EXPECT_EQ(outputs[0].tensor.data, y.data());  // no buffer of the library's own
    EXPECT_EQ(outputs[0].owner, nullptr);
    EXPECT_EQ(y, floats({2, 2}, {2, 3, 4, 5}));
  }
  EXPECT_EQ(x, floats({2, 2}, {1, 2, 3, 4}));
}

TEST(OpenVinoRegion, AnOutputMayBeTheNextInput) {
  auto region = load_region(add_one(DType::f32, floats({1}, {1})));
  ASSERT_TRUE(region) << error_of(region);
  Tensor from = floats({2, 2}, {1, 2, 3, 4}), to(DType::f32, {2, 2});
  for (int i = 0; i < 4; ++i, std::swap(from, to)) {
    std::vector<Output> outputs{into(to)};
    ASSERT_TRUE(run_region(**region, {as_input(from)}, outputs));
  }
  EXPECT_EQ(values(from), (std::vector<float>{5, 6, 7, 8}));
}

TEST(OpenVinoRegion, TakesUnalignedBuffers) {
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

TEST(OpenVinoRegion, BigConstantsStayOutsideTheBlob) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{1, 256}));
  Tensor weights(DType::f32, {256, 256});
  for (int i = 0; i < 256; ++i) weights.as<float>()[static_cast<size_t>(i * 257)] = 2;  // twice the identity
  const ValueId w = g.constant("w", weights);
  const ValueId y = g.node("MatMul", {x, w}, tensor_type(DType::f32, Shape{1, 256}));
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

TEST(OpenVinoRegion, MoreThanAMessageHoldsIsAnError) {
  const int64_t size = int64_t{1} << 29;
  const ConstTensorView large(nullptr, DType::f32, {size});  // its data is not read
  EXPECT_NE(error_of(openvino::complete_model({"", {"w"}, std::span(&large, 1)})).find("up to 2 GiB"),
            std::string::npos);
  EXPECT_EQ(error_of(openvino::complete_model({"", {"w"}, {}})), "the region wants 1 constants, got 0");
}

/// Compares a region's output with `want`; both have the same type.
void expect_moved(const Graph& graph, const Tensor& in, const Tensor& want) {
  auto region = load_region(graph);
  ASSERT_TRUE(region) << error_of(region);
  const Tensor out(want.dtype(), want.shape());
  std::vector<Output> outputs{into(out)};
  const Status ran = run_region(**region, {as_input(in)}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(out, want) << dtype_name(want.dtype());
}

/// Checks extreme values, which a detour through another type would change.
TEST(OpenVinoRegion, MovesEveryTypeExactly) {
  for (DType dtype : {DType::f32, DType::boolean, DType::i32, DType::u8, DType::i8}) {
    GraphMaker g;
    const ValueId x = g.input("x", tensor_type(dtype, Shape{2, 3}));
    const Graph graph = g.finish({g.node("Transpose", {x}, tensor_type(dtype, Shape{3, 2}))});
    const Support support = make_openvino_target()->supports(graph, NodeId{0}, {});
    ASSERT_TRUE(support.yes) << dtype_name(dtype) << ": " << support.because;
    Tensor in(dtype, {2, 3}), want(dtype, {3, 2});
    const size_t bytes = in.bytes() / 6;
    for (size_t i = 0; i < 6; ++i) {
      std::vector<uint8_t> item(bytes, static_cast<uint8_t>(dtype == DType::boolean ? i % 2 : 0x7f - i));
      if (dtype == DType::f32) item.back() = 0x41;  // a float whose low bytes are in use
      std::memcpy(in.as<std::byte>().data() + i * bytes, item.data(), bytes);
      std::memcpy(want.as<std::byte>().data() + (i % 3 * 2 + i / 3) * bytes, item.data(), bytes);
    }
    expect_moved(graph, in, want);
  }
}

TEST(OpenVinoRegion, BooleansAreZeroOrOne) {
  GraphMaker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{3})),
                y = g.input("y", tensor_type(DType::f32, Shape{3}));
  auto region = load_region(g.finish({g.node("Less", {x, y}, tensor_type(DType::boolean, Shape{3}))}));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor small = floats({3}, {1, 2, NAN}), large = floats({3}, {2, 1, 3}), less(DType::boolean, {3});
  std::vector<Output> outputs{into(less)};
  ASSERT_TRUE(run_region(**region, {as_input(small), as_input(large)}, outputs));
  EXPECT_TRUE(has_legal_booleans(less.view()));
  EXPECT_EQ(less, make_tensor<bool>(DType::boolean, {3}, {true, false, false}));
}

// Checks that the callers' buffers are written, and none of them is read instead of the input, even though
// the library drops nodes that do nothing, so that outputs are one value.
TEST(OpenVinoRegion, NodesThatDoNothingStillWrite) {
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
  const std::vector<std::vector<float>> want{{7, 8}, {-3, 5}, {0, 5}, {0, 5}, {-3, 5}};
  for (int round = 0; round < 2; ++round) {
    std::vector<Tensor> tensors;
    std::vector<Output> outputs;
    for (size_t i = 0; i < all.size(); ++i)
      outputs.push_back(into(tensors.emplace_back(DType::f32, Shape{2})));
    const Tensor in = floats({2}, {-3, 5});
    const Status ran = run_region(**region, {as_input(in)}, outputs);
    ASSERT_TRUE(ran) << error_of(ran);
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(values(tensors[i]), want[i]) << i;
  }
}

TEST(OpenVinoRegion, AnOutputMayBeAnInputOrAConstant) {
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
  EXPECT_EQ(values(a), (std::vector<float>{-1, 2}));
  EXPECT_EQ(values(b), (std::vector<float>{7, 8}));
  EXPECT_EQ(values(d), (std::vector<float>{0, 2}));
}

TEST(OpenVinoRegion, OpenSizesAndScalars) {
  GraphMaker g;
  const ValueType type = tensor_type(DType::f32, {Dim::named("n")});
  const ValueId x = g.input("x", type), s = g.input("s", tensor_type(DType::f32, Shape{}));
  auto region = load_region(g.finish({g.node("Add", {x, s}, type)}));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor one = floats({}, {1});
  for (int64_t size : {2, 5, 0, 3}) {
    Tensor in(DType::f32, {size}), out(DType::f32, {size});
    std::ranges::fill(in.as<float>(), 2.0f);
    std::vector<Output> outputs{into(out)};
    const Status ran = run_region(**region, {as_input(in), as_input(one)}, outputs);
    ASSERT_TRUE(ran) << size << ": " << error_of(ran);
    EXPECT_TRUE(std::ranges::all_of(out.as<float>(), [](float item) { return item == 3; })) << size;
  }
  const Tensor in(DType::f32, {4}), wrong(DType::f32, {3});
  std::vector<Output> outputs{into(wrong)};
  EXPECT_NE(error_of(run_region(**region, {as_input(in), as_input(one)}, outputs)), "");
  outputs = {dynamic_output()};
  ASSERT_TRUE(run_region(**region, {as_input(in), as_input(one)}, outputs));
  EXPECT_EQ(Tensor(outputs[0].tensor), floats({4}, {1, 1, 1, 1}));
}

TEST(OpenVinoRegion, AnOpenSizeMayBeZero) {
  GraphMaker g;
  const Dim n = Dim::named("n");
  Attributes axis;
  axis.set("axis", int64_t{0});
  const ValueId x = g.input("x", tensor_type(DType::f32, {n})),
                y = g.input("y", tensor_type(DType::f32, Shape{2}));
  const ValueId joined = g.node("Concat", {x, y}, tensor_type(DType::f32, {n + 2}), axis);
  const ValueId sum = g.node("ReduceSum", {x}, tensor_type(DType::f32, Shape{1}));
  auto region = load_region(g.finish({joined, sum}));
  ASSERT_TRUE(region) << error_of(region);
  for (int64_t size : {3, 0, 1, 0}) {
    Tensor in(DType::f32, {size});
    std::ranges::fill(in.as<float>(), 1.0f);
    const Tensor two = floats({2}, {7, 8}), all(DType::f32, {size + 2}), total(DType::f32, {1});
    std::vector<Output> outputs{into(all), into(total)};
    const Status ran = run_region(**region, {as_input(in), as_input(two)}, outputs);
    ASSERT_TRUE(ran) << size << ": " << error_of(ran);
    std::vector<float> want(static_cast<size_t>(size), 1.0f);
    want.insert(want.end(), {7, 8});
    EXPECT_EQ(values(all), want);
    EXPECT_EQ(values(total), std::vector<float>{static_cast<float>(size)});
  }
}

TEST(OpenVinoRegion, ManyThreadsRunOneExecutable) {
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

/// Checks that averages over all runs become those of the runs after the first.
TEST(OpenVinoRegion, AColdRunIsNotInAProfile) {
  const std::vector<OperatorTime> first{{"reorder", 56000}, {"conv", 3000}, {"idle", 0}, {"other", 1}};
  std::vector<OperatorTime> times{{"reorder", 10000}, {"conv", 3000}, {"idle", 0}, {"renamed", 7}};
  openvino::leave_out_first_run(first, 6, times);
  const auto is = [&](size_t i, int64_t nanoseconds) { return times[i].nanoseconds == nanoseconds; };
  EXPECT_TRUE(is(0, 800) && is(1, 3000) && is(2, 0) && is(3, 7));
}

TEST(OpenVinoRegion, ErrorsName) {
  auto region = load_region(add_one(DType::f32, floats({1}, {1})));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), wrong(DType::f32, {3, 2});
  std::vector<Output> outputs{into(wrong)};
  const std::string message = error_of(run_region(**region, {as_input(x)}, outputs));
  EXPECT_TRUE(message.starts_with("output 0: ")) << message;
  outputs = {};
  EXPECT_EQ(error_of(run_region(**region, {as_input(x)}, outputs)),
            "the OpenVINO region has 1 inputs and 1 outputs, got 1 and 0");
}

TEST(OpenVinoRegion, DamagedBlobsAreErrors) {
  const auto compiled = make_openvino_target()->compile(add_one(DType::f32, floats({1}, {1})), {}, {});
  ASSERT_TRUE(compiled) << error_of(compiled);
  for (size_t bytes = 0; bytes + 16 < compiled->blob.size(); bytes += 7) {
    LoadContext context{std::as_bytes(std::span(compiled->blob)).first(bytes)};
    EXPECT_FALSE(openvino_run_backend().load(context)) << bytes;
  }
}

/// Checks the error in a process that has not opened the library, as each test is by ctest.
TEST(OpenVinoRegion, WithoutTheLibraryTheErrorSaysHowToInstallIt) {
  const auto target = make_openvino_target();
  setenv("INTARSIA_OPENVINO", "/nowhere", 1);
  const Graph graph = add_one(DType::f32, floats({1}, {1}));
  const Support support = target->supports(graph, NodeId{0}, {});
  unsetenv("INTARSIA_OPENVINO");
  if (support.yes) GTEST_SKIP() << "OpenVINO is open already";
  EXPECT_NE(support.because.find("INTARSIA_OPENVINO is '/nowhere'"), std::string::npos) << support.because;
  const auto compiled = target->compile(graph, {}, {});  // the library is found
  ASSERT_TRUE(compiled) << error_of(compiled);
}

}  // namespace
}  // namespace intarsia
