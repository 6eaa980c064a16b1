// Open sizes that the inputs' shapes tell.
//
// Covers: src/runtime/ bind_sizes.cc
// src/program/ open_sizes.cc
// src/compile/ size_table.cc
#include "runtime/bind_sizes.h"

#include <gtest/gtest.h>

#include "compile/size_table.h"
#include "program/open_sizes.h"

namespace intarsia::test {
namespace {

/// Function with the inputs past [batch, past] and mask [batch, past+1], and the output y [2*past+batch].
class BindSizes : public testing::Test {
 protected:
  BindSizes() {
    Graph graph;
    graph.open_sizes = {{"batch", {1, 4}}, {"past", {}}};
    SizeTable table(graph, function_);
    const Dim batch = Dim::named("batch"), past = Dim::named("past");
    add(table, "past", {batch, past});
    add(table, "mask", {batch, past + 1});
    add(table, "y", {2 * past + batch});
    EXPECT_TRUE(verify_open_sizes(function_));
  }

  void add(SizeTable& table, const std::string& name, const SymbolicShape& shape) {
    auto value = std::make_unique<fbs::ValueT>();
    value->name = name;
    value->dims.assign(shape.size(), -1);
    table.describe({DType::f32, shape}, *value);
    if (name != "y") function_.inputs.push_back(static_cast<uint32_t>(function_.values.size()));
    function_.values.push_back(std::move(value));
  }

  /// Returns what is wrong with the shapes; "" if nothing is.
  std::string bind(const Shape& past, const Shape& mask, const Shape& y) {
    SizeBinder binder(function_);
    const auto all = [&]() -> Status {
      binder.start();
      TRY(binder.tell(*function_.values[0], past));
      TRY(binder.tell(*function_.values[1], mask));
      TRY(binder.check("input", *function_.values[0], past));
      TRY(binder.check("input", *function_.values[1], mask));
      return binder.check("output", *function_.values[2], y);
    };
    const Status bound = all();
    return bound ? "" : bound.error().message;
  }

  fbs::FunctionT function_;
};

TEST_F(BindSizes, ShapesThatAgreeAreTaken) {
  EXPECT_EQ(bind({2, 5}, {2, 6}, {12}), "");
  EXPECT_EQ(bind({1, 0}, {1, 1}, {1}), "") << "a size may be 0";
}

TEST_F(BindSizes, ErrorsNameTheSizeAndWhereItComesFrom) {
  EXPECT_EQ(
      bind({5, 5}, {5, 6}, {15}),
      "input 'past' has shape 5x5, where 'batch' is 5, want 1 to 4: compile the model again for another "
      "range (--shape)");
  EXPECT_EQ(bind({2, 5}, {3, 6}, {12}),
            "input 'mask' has shape 3x6, want size 2 on axis 0: it is batch, with batch = 2 (input 'past'), "
            "past = 5 (input 'past')");
  EXPECT_EQ(bind({2, 5}, {2, 7}, {12}),
            "input 'mask' has shape 2x7, want size 6 on axis 1: it is past+1, with batch = 2 (input 'past'), "
            "past = 5 (input 'past')");
  EXPECT_TRUE(bind({2, 5}, {2, 6}, {13}).starts_with("output 'y' has shape 13, want size 12 on axis 0"));
  EXPECT_TRUE(bind({2, 900'000'000}, {2, 3}, {4}).contains("want size 900000001"));
}

TEST_F(BindSizes, ExpressionsAreComputedAsWritten) {
  const Dim a = Dim::named("batch"), b = Dim::named("past");
  const auto compute = [&](const Dim& size, std::vector<int64_t> symbols) -> std::string {
    function_.sizes.clear();
    SizeTable table({.open_sizes = {{"batch", {}}, {"past", {}}}}, function_ = {});
    fbs::ValueT value;
    table.describe({DType::f32, SymbolicShape{size}}, value);
    const Result<int64_t> number = evaluate_size(*function_.sizes[0], symbols);
    return number ? std::to_string(*number) : number.error().message;
  };
  EXPECT_EQ(compute(3 * a * a * b - 7, {5, 2}), "143");
  EXPECT_EQ(compute(floor_div(a - 9, 2) + b, {4, 1}), "-2") << "rounded down";
  EXPECT_EQ(compute(larger_of(a, b) * smaller_of(a, b + 1), {4, 7}), "28");
  EXPECT_TRUE(compute(floor_div(a, b), {4, 0}).contains("a division by 0"));
  EXPECT_TRUE(compute(a * a * a, {int64_t{1} << 30, 0}).contains("more than"));
}

}  // namespace
}  // namespace intarsia::test
