// Regions that are a user's function: what its code gets, and plans that do not fit it.
//
// Covers: backends/halide/runtime/ load_function.cc
// backends/halide/abi/ argument_buffers.h function_metadata.h
#include <gtest/gtest.h>

#include <array>

#include "backends/halide/abi/argument_buffers.h"
#include "backends/halide/abi/function_plan_generated.h"
#include "backends/halide/abi/halide_abi.h"
#include "backends/halide/runtime/load.h"
#include "base/bytes.h"
#include "base/flat_buffer.h"

namespace intarsia::halide {
namespace {

constexpr HalideType f32{halide_floating, 32, 1}, u8{halide_unsigned, 8, 1};
constexpr FunctionArgument about_arguments[] = {
    {"__user_context",
     ArgumentKind::scalar_input,
     0,
     {3, 64, 1},
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     nullptr},
    {"a", ArgumentKind::input_buffer, 2, f32, nullptr, nullptr, nullptr, nullptr, nullptr},
    {"factor", ArgumentKind::scalar_input, 0, u8, nullptr, nullptr, nullptr, nullptr, nullptr},
    {"b", ArgumentKind::output_buffer, 1, f32, nullptr, nullptr, nullptr, nullptr, nullptr}};
constexpr FunctionMetadata about{1, 4, about_arguments, "x86-64-linux", "f"};

const FunctionMetadata* metadata() { return &about; }

/// Buffers of the last call.
struct Call {
  HalideBuffer a, b;
  std::array<HalideDimension, 2> a_dims;
  uint8_t factor;
} last;

int status = 0;

int code(void** arguments) {
  last.a = *static_cast<HalideBuffer*>(arguments[1]);
  last.a_dims = {last.a.dim[0], last.a.dim[1]};
  last.factor = *static_cast<uint8_t*>(arguments[2]);
  last.b = *static_cast<HalideBuffer*>(arguments[3]);
  if (status == 0) return 0;
  auto* runtime = *static_cast<HalideKernelRuntime**>(arguments[0]);
  runtime->error(runtime, "on purpose");
  return status;
}

function::PlanT whole_plan() {
  function::PlanT plan;
  plan.version = function_plan_version;
  plan.symbol = "f";
  for (int i = 0; i < 3; ++i) plan.arguments.push_back(std::make_unique<function::ArgumentT>());
  plan.arguments[0]->mins = {-1, 5};
  return plan;
}

Result<std::unique_ptr<Executable>> load_plan(const function::PlanT& plan) {
  const std::string blob = pack_table<function::Plan>(plan);
  LoadContext context;
  context.blob = as_bytes(std::string_view(blob));
  context.symbol = [](const std::string& name) -> void* {
    if (name == "f_metadata") return reinterpret_cast<void*>(metadata);
    return name == "f_argv" ? reinterpret_cast<void*>(code) : nullptr;
  };
  return load(context);
}

class FunctionRegion : public testing::Test {
 protected:
  Status run(Shape a_shape, Shape b_shape, DType a_dtype = DType::f32, size_t input_count = 2) {
    const auto executable = load_plan(whole_plan());
    if (!executable) return tl::unexpected(executable.error());
    std::array inputs = {Input{ConstTensorView{a_.data(), a_dtype, std::move(a_shape)}, nullptr, {}},
                         Input{ConstTensorView{&factor_, DType::u8, {}}, nullptr, {}}};
    std::array outputs = {Output{TensorView{b_.data(), DType::f32, std::move(b_shape)}, nullptr}};
    RunContext context;
    context.inputs = std::span<const Input>(inputs).first(input_count);
    context.outputs = outputs;
    return (*executable)->run(context);
  }
  std::array<float, 12> a_{};
  std::array<float, 4> b_{};
  uint8_t factor_ = 7;
};

TEST_F(FunctionRegion, TheCodeGetsTensorsAsBuffersInnermostAxisFirst) {
  status = 0;
  ASSERT_TRUE(run({3, 4}, {4}));
  EXPECT_EQ(last.a.host, reinterpret_cast<uint8_t*>(a_.data()));
  EXPECT_EQ(last.a.dimensions, 2);
  const auto [inner, outer] = last.a_dims;
  EXPECT_EQ((std::array{inner.min, inner.extent, inner.stride}), (std::array{5, 4, 1}));
  EXPECT_EQ((std::array{outer.min, outer.extent, outer.stride}), (std::array{-1, 3, 4}));
  EXPECT_EQ(last.factor, 7);
  EXPECT_EQ(last.b.host, reinterpret_cast<uint8_t*>(b_.data()));
}

TEST_F(FunctionRegion, ItsFailureIsTheRuns) {
  status = -3;
  EXPECT_EQ(run({3, 4}, {4}).error().message, "halide: on purpose (status -3)");
  status = halide_out_of_memory;
  EXPECT_EQ(run({3, 4}, {4}).error().kind, ErrorKind::out_of_memory);
}

TEST_F(FunctionRegion, WithoutElementsToMakeItIsNotCalled) {
  status = -3;
  EXPECT_TRUE(run({3, 0}, {0}));
}

TEST_F(FunctionRegion, ArgumentsThatDoNotFitAreErrors) {
  status = 0;
  EXPECT_EQ(run({12}, {4}).error().message,
            "halide: argument 0 is a f32 of rank 1, its code takes a f32 of rank 2");
  EXPECT_FALSE(run({3, 4}, {4}, DType::i32));
  EXPECT_FALSE(run({3, 4}, {4}, DType::f32, 1));
  EXPECT_FALSE(run({1, int64_t{1} << 31}, {4}));
}

TEST(FunctionPlans, DamagedOnesAreRefused) {
  EXPECT_TRUE(load_plan(whole_plan()));
  const auto refuses = [](const auto& damage) {
    function::PlanT plan = whole_plan();
    damage(plan);
    return !load_plan(plan).has_value();
  };
  EXPECT_TRUE(refuses([](function::PlanT& plan) { plan.symbol = "g"; }));
  EXPECT_TRUE(refuses([](function::PlanT& plan) { plan.symbol.clear(); }));
  EXPECT_TRUE(refuses([](function::PlanT& plan) { plan.arguments.pop_back(); }));
  EXPECT_TRUE(refuses([](function::PlanT& plan) { plan.arguments.clear(); }));
  EXPECT_TRUE(refuses([](function::PlanT& plan) { plan.arguments[0]->mins = {1}; }));
  EXPECT_TRUE(refuses([](function::PlanT& plan) { plan.arguments[1]->mins = {1}; }));
  EXPECT_TRUE(refuses([](function::PlanT& plan) { plan.version = 99; }));
  EXPECT_TRUE(refuses([](function::PlanT& plan) {
    for (int i = 0; i < 100; ++i) plan.arguments.push_back(std::make_unique<function::ArgumentT>());
  }));
  const std::string blob = pack_table<function::Plan>(whole_plan());
  for (size_t size = 0; size < blob.size(); ++size) {
    LoadContext context;
    context.blob = as_bytes(std::string_view(blob).substr(0, size));
    context.symbol = [](const std::string&) -> void* { return nullptr; };
    EXPECT_FALSE(load(context));
  }
}

}  // namespace
}  // namespace intarsia::halide
