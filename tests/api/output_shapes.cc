// Shapes of outputs without a run: C API and C++ wrapper, over the toy backend.
//
// Covers: src/api/ output_shapes_api.cc
// src/runtime/ output_shapes.cc argument_names.cc check_shape.cc
#include <gtest/gtest.h>

#include "tests/support/runtime_support.h"

// Comes last: programs include this or the library's internals, never both.
#include <intarsia/intarsia.hpp>

namespace intarsia::test {
namespace {

namespace api = ::intarsia::v1;

/// Gives the value sizes: 0, or one more than the number of an expression.
void open(ProgramMaker& maker, uint32_t value, std::vector<uint32_t> sizes) {
  maker.function().values[value]->sizes = std::move(sizes);
}

/// Adds an expression in postfix order.
void add_size(ProgramMaker& maker, std::vector<fbs::SizeOp> ops, std::vector<int64_t> operands,
              const std::string& text) {
  auto size = std::make_unique<fbs::SizeT>();
  size->ops = std::move(ops);
  size->operands = std::move(operands);
  size->text = text;
  maker.function().sizes.push_back(std::move(size));
}

/// Makes a function of the inputs x [batch, past], mask [past+1] and list (opaque), and the outputs
/// y [batch, past+1, 3], some [?, batch], less [past-2] and inside (of unknown rank). Without the list,
/// inside is absent, too.
ProgramMaker open_program(bool has_list = true) {
  using enum fbs::SizeOp;
  ProgramMaker maker;
  maker.program.needs.push_back("symbols");
  for (const auto& [name, min, max] : {std::tuple{"batch", 1, 4}, std::tuple{"past", 0, 100}}) {
    auto symbol = std::make_unique<fbs::SymbolT>();
    symbol->name = name;
    symbol->min = min;
    symbol->max = max;
    maker.function().symbols.push_back(std::move(symbol));
  }
  add_size(maker, {symbol}, {0}, "batch");
  add_size(maker, {symbol}, {1}, "past");
  add_size(maker, {symbol, number, add}, {1, 1}, "past+1");
  add_size(maker, {symbol, number, add}, {1, -2}, "past-2");
  const uint32_t x = maker.input("x", {-1, -1}), mask = maker.input("mask", {-1});
  open(maker, x, {1, 2});
  open(maker, mask, {3});
  const uint32_t y = maker.dynamic_output("y", {-1, -1, 3}), some = maker.dynamic_output("some", {-1, -1});
  const uint32_t less = maker.dynamic_output("less", {-1});
  open(maker, y, {1, 3, 0});
  open(maker, some, {0, 1});
  open(maker, less, {4});
  maker.run("positive", {x, mask}, {y});
  maker.run("positive", {x}, {some});
  maker.run("positive", {mask}, {less});
  if (!has_list) return maker;
  const uint32_t list = maker.input("list", {}, DType::undefined),
                 inside = maker.dynamic_output("inside", {});
  maker.function().values[inside]->rank_unknown = true;
  maker.run("open", {list}, {inside});
  return maker;
}

class OutputShapes : public testing::Test {
 protected:
  api::Program load(const ProgramMaker& maker) {
    const Status status = maker.write(folder_ / "p.so");
    EXPECT_TRUE(status) << status.error().message;
    return api::Program::load(folder_ / "p.so");
  }
  TestFolder folder_;
};

using Given = std::vector<api::NamedSizes>;

/// Returns what the shapes of inputs lead to: the error of the call.
std::string error_of(const api::Program& program, const Given& inputs, const std::string& function = {}) {
  try {
    program.output_shapes(inputs, function);
  } catch (const api::Error& error) {
    EXPECT_EQ(error.kind(), INTARSIA_ERROR_INVALID_ARGUMENT);
    return error.what();
  }
  return "none";
}

/// Returns the error of a run with inputs of these shapes.
std::string run_error_of(const api::Program& program, const Given& inputs) {
  std::vector<float> numbers(10'000);
  std::vector<api::NamedView> views;
  for (const auto& [name, shape] : inputs) views.emplace_back(name, api::View(numbers.data(), shape));
  try {
    program.bind().compute(views, {"y"});
  } catch (const api::Error& error) {
    return error.what();
  }
  return "none";
}

TEST_F(OutputShapes, FollowFromThoseOfTheInputs) {
  const api::Program program = load(open_program());
  const std::vector<api::NamedShape> shapes = program.output_shapes({{"mask", {8}}, {"x", {2, 7}}});
  ASSERT_EQ(shapes.size(), 4u);
  EXPECT_EQ(shapes[0].name, "y");
  EXPECT_EQ(shapes[0].shape, (std::vector<int64_t>{2, 8, 3}));
  EXPECT_EQ(shapes[1].shape, (std::vector<int64_t>{-1, 2})) << "the data tells the first";
  EXPECT_EQ(shapes[2].shape, (std::vector<int64_t>{5}));
  EXPECT_FALSE(shapes[3].rank_known);
  EXPECT_EQ(program.output_shapes({{"list", {}}, {"x", {4, 2}}, {"mask", {3}}}, "main")[2].shape,
            (std::vector<int64_t>{0}));
}

TEST_F(OutputShapes, OfFixedSizeAreThoseOfTheProgram) {
  const api::Program program = load(small_program());
  EXPECT_EQ(program.output_shapes({{"x", {4}}})[0].shape, (std::vector<int64_t>{4}));
  EXPECT_EQ(error_of(program, {{"x", {5}}}), run_error_of(program, {{"x", {5}}}));
}

TEST_F(OutputShapes, ErrorsAreThoseOfARun) {
  const api::Program program = load(open_program(false));
  for (const Given& inputs : std::initializer_list<Given>{
           {{"x", {2, 7, 1}}, {"mask", {8}}},  // rank
           {{"x", {5, 7}}, {"mask", {8}}},     // range
           {{"mask", {8}}, {"x", {0, 7}}},     // range
           {{"x", {2, -7}}, {"mask", {8}}},    // negative
           {{"x", {2, 7}}, {"z", {8}}},        // unknown
           {{"x", {2, 7}}, {"x", {2, 7}}},     // twice
           {{"x", {2, 7}}},                    // missing
           {{"x", {2, 7}}, {"mask", {9}}},     // contradiction
       }) {
    const std::string error = error_of(program, inputs);
    EXPECT_NE(error, "none");
    EXPECT_EQ(error, run_error_of(program, inputs));
  }
  EXPECT_EQ(
      error_of(program, {{"x", {2, 7}}, {"mask", {9}}}),
      "input 'mask' has shape 9, want size 8 on axis 0: it is past+1, with batch = 2 (input 'x'), past = "
      "7 (input 'x')");
}

TEST_F(OutputShapes, SizesBelowZeroAreRefused) {
  const api::Program program = load(open_program());
  EXPECT_EQ(error_of(program, {{"x", {2, 1}}, {"mask", {2}}}),
            "output 'less' would have size -1 on axis 0: the model does not work with these sizes");
  EXPECT_EQ(error_of(program, {}, "other"), "no function 'other'; the program has: main");
}

std::string text_of(intarsia_error* error) {
  const std::string text = error == nullptr ? "none" : intarsia_error_message(error);
  intarsia_error_release(error);
  return text;
}

TEST_F(OutputShapes, AreWrittenToTheCallersMemory) {
  const api::Program program = load(open_program());
  const int64_t of_x[] = {2, 7}, of_mask[] = {8};
  intarsia_tensor inputs[2] = {};
  for (intarsia_tensor& input : inputs) input.struct_size = sizeof(input);
  inputs[0].name = "x";
  inputs[0].rank = 2;
  inputs[0].shape = of_x;
  inputs[1].name = "mask";
  inputs[1].rank = 1;
  inputs[1].shape = of_mask;
  int64_t sizes[4] = {9, 9, 9, 9};
  intarsia_shape outputs[2] = {{sizeof(intarsia_shape), "inside", 0, nullptr},
                               {sizeof(intarsia_shape), "y", 4, sizes}};
  const auto call = [&](intarsia_shape* to, size_t count) {
    return text_of(intarsia_program_output_shapes(program.get(), nullptr, inputs, 2, to, count));
  };
  ASSERT_EQ(call(outputs, 2), "none");
  EXPECT_EQ(outputs[0].rank, -1);
  EXPECT_EQ(outputs[1].rank, 3);
  EXPECT_EQ(sizes[1], 8);
  EXPECT_EQ(sizes[3], 9) << "no more than the rank is written";
  EXPECT_EQ(call(nullptr, 0), "none") << "only checks";
  outputs[1].rank = 2;
  EXPECT_EQ(call(outputs, 2), "output 'y' has rank 3, and room for 2 sizes");
  outputs[1].rank = 3;
  outputs[1].sizes = nullptr;
  EXPECT_EQ(call(outputs, 2), "output 'y' has no memory for its sizes");
  outputs[1].name = "z";
  EXPECT_EQ(call(outputs, 2), "no output 'z'; the function has: y, some, less, inside");
  outputs[1].name = nullptr;
  EXPECT_EQ(call(outputs, 2), "an output has no name");
  EXPECT_EQ(call(nullptr, 2), "2 outputs at a null pointer");
  outputs[0].struct_size = 2;
  const size_t least = sizeof(void*) == 8 ? 32 : sizeof(size_t);  // version 1 was for 64-bit machines
  EXPECT_EQ(call(outputs, 1), "struct_size of an output's shape is 2, want at least " +
                                  std::to_string(least) + ": set it to sizeof of the struct");
  inputs[0].shape = nullptr;
  EXPECT_EQ(call(outputs, 1), "input 'x' has a null shape, rank 2");
  EXPECT_EQ(text_of(intarsia_program_output_shapes(nullptr, nullptr, inputs, 2, outputs, 1)),
            "the program is a null pointer");
}

}  // namespace
}  // namespace intarsia::test
