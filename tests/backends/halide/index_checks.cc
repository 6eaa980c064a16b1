// Indices that come with a request: the kernels of the halide backend refuse those that the reference kernels
// refuse, and compute the same from the others.
//
// Covers: backends/halide/runtime/ check_indices.cc
// backends/halide/schedule/ index_checks.cc
#include <gtest/gtest.h>

#include <random>

#include "backends/halide/runtime/check_indices.h"
#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

struct IndexCase {
  const char* name;
  const char* text;
  std::vector<int64_t> sizes;  // sizes that %i indexes: one, or one per element of the last axis
  bool counts_from_end = true;
};

void PrintTo(const IndexCase& one, std::ostream* out) { *out << one.name; }

// The cases read %i as it is, through views, and moved through a loop of the region.
const IndexCase index_cases[] = {
    {"TwoAxes",
     R"(input %x : f32[5,7]
input %i : i64[3,2]
%y = Gather(%x, %i) {axis=1} "pick"
output %y)",
     {7}},
    {"FromTheEnd",
     R"(input %x : f32[5,7]
input %i : i32[6]
%y = Gather(%x, %i) {axis=-2} "pick"
output %y)",
     {5}},
    {"OneIndex",
     R"(input %x : f32[5,7]
input %i : i64[]
%y = Gather(%x, %i) "pick"
output %y)",
     {5}},
    {"Transposed",
     R"(input %x : f32[5,7]
input %i : i64[3,5]
%t = Transpose(%i) {perm=[1,0]}
%y = GatherElements(%x, %t) {axis=1} "pick"
output %y)",
     {7}},
    {"Broadcast",
     R"(input %x : f32[5,7]
input %i : i64[4,1]
const %to : i64[2] = {4,6}
%wide = Expand(%i, %to)
%y = GatherElements(%x, %wide) {axis=0} "pick"
output %y)",
     {5}},
    {"Tuples",
     R"(input %x : f32[5,7,3]
input %i : i64[4,2]
%y = GatherND(%x, %i) "pick"
output %y)",
     {5, 7}},
    {"CastTuplesInBatches",
     R"(input %x : f32[2,5,7,3]
input %i : i32[2,4,3]
%long = Cast(%i) {to=7}
%y = GatherND(%x, %long) {batch_dims=1} "pick"
output %y)",
     {5, 7, 3}},
    {"ScatterElements",
     R"(input %x : f32[5,7]
input %i : i64[3,2]
input %u : f32[3,2]
%y = ScatterElements(%x, %i, %u) {axis=1, reduction="add"} "pick"
output %y)",
     {7}},
    {"ScatterTuples",
     R"(input %x : f32[5,7,3]
input %i : i64[4,2]
input %u : f32[4,3]
%y = ScatterND(%x, %i, %u) "pick"
output %y)",
     {5, 7}},
    {"ReverseSequence",
     R"(input %x : f32[6,4,3]
input %i : i64[4]
%y = ReverseSequence(%x, %i) "pick"
output %y)",
     {6},
     false},
};

int64_t least(const IndexCase& one, size_t i) {
  return one.counts_from_end ? -one.sizes[i % one.sizes.size()] : 0;
}
int64_t greatest(const IndexCase& one, size_t i) {
  return one.sizes[i % one.sizes.size()] - (one.counts_from_end ? 1 : 0);
}

void set(const Tensor& indices, size_t i, int64_t index) {
  if (indices.dtype() == DType::i32)
    indices.as<int32_t>()[i] = static_cast<int32_t>(index);
  else
    indices.as<int64_t>()[i] = index;
}

class IndexChecks : public testing::TestWithParam<IndexCase> {
 protected:
  void SetUp() override {
    Result<Graph> graph =
        make_graph(fmt::format("graph \"indices\" opsets {{\"\": 18}}\n{}", GetParam().text));
    ASSERT_TRUE(graph) << graph.error().message;
    graph_ = *std::move(graph);
    auto region = LoadedRegion::make(graph_, {1, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    region_ = *std::move(region);
    for (ValueId input : graph_.inputs) {
      const ValueType& type = graph_.value(input).type;
      inputs_.push_back(random_tensor(type.dtype, *type.fixed_shape(), inputs_.size()));
    }
    for (size_t i = 0; i < count(); ++i)
      set(inputs_[1], i,
          std::uniform_int_distribution(least(GetParam(), i), greatest(GetParam(), i))(random_));
  }

  size_t count() const { return static_cast<size_t>(element_count(inputs_[1].shape())); }

  Graph graph_;
  std::unique_ptr<LoadedRegion> region_;
  std::vector<Tensor> inputs_;
  std::mt19937 random_{1};
};

TEST_P(IndexChecks, ThoseInRangeGiveTheReferencesValues) {
  const auto got = region_->run(inputs_, nullptr);
  ASSERT_TRUE(got) << got.error().message;
  const auto want = run_reference(graph_, inputs_);
  ASSERT_TRUE(want) << want.error().message;
  EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view()), "");
}

TEST_P(IndexChecks, EveryElementOutOfRangeIsAnError) {
  const int64_t far = inputs_[1].dtype() == DType::i32 ? INT32_MAX : INT64_MAX;
  for (size_t i = 0; i < count(); ++i) {
    const int64_t low = least(GetParam(), i), high = greatest(GetParam(), i);
    for (int64_t bad : {low - 1, high + 1, far, -far - 1}) {
      std::vector<Tensor> inputs = inputs_;
      inputs[1] = Tensor(inputs_[1].view());
      set(inputs[1], i, bad);
      ASSERT_FALSE(run_reference(graph_, inputs));
      const auto got = region_->run(inputs, nullptr);
      ASSERT_FALSE(got) << "element " << i << " is " << bad;
      EXPECT_TRUE(got.error().message.contains("pick: ")) << got.error().message;
      EXPECT_TRUE(got.error().message.contains(
          fmt::format("index {} of its input 1 is out of range {} to {}", bad, low, high)))
          << got.error().message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Halide, IndexChecks, testing::ValuesIn(index_cases),
                         [](const auto& test) { return test.param.name; });

TEST(IndexChecks, ConstantsAreCheckedOnceForAll) {
  for (const int64_t index : {4, 5}) {
    Result<Graph> graph = make_graph(fmt::format(R"(graph "constant" opsets {{"": 18}}
input %x : f32[5,7]
const %i : i64[2] = {{0,{}}}
%y = Gather(%x, %i)
output %y)",
                                                 index));
    ASSERT_TRUE(graph) << graph.error().message;
    auto region = LoadedRegion::make(*graph, {1, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    EXPECT_EQ((*region)->run({random_tensor(DType::f32, {5, 7}, 0)}, nullptr).has_value(), index == 4);
  }
}

/// Checks random axes: those of a tensor in any order, some of them broadcast or of size 1.
TEST(IndexChecks, OneBadElementAmongManyIsFound) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const size_t rank = random() % 5;
    std::vector<HalideDimension> axes(rank);
    std::vector<size_t> order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = i;
    std::ranges::shuffle(order, random);
    int32_t elements = 1;
    for (size_t i : order) {
      axes[i] = {0, static_cast<int32_t>(1 + random() % 5), elements, 0};
      if (random() % 4 == 0) axes[i].stride = 0;
      if (axes[i].stride != 0) elements *= axes[i].extent;
    }
    const bool has_rows = rank > 0 && axes.back().stride != 0 && random() % 2 == 0;
    std::vector<halide::IndexRange> ranges(has_rows ? static_cast<size_t>(axes.back().extent) : 1, {-9, 8});
    const auto plans = halide::plan_index_checks(0, axes, ranges);
    ASSERT_TRUE(plans) << "round " << round;
    std::vector<int64_t> memory(static_cast<size_t>(elements), 8);
    const auto find = [&] {
      std::optional<int64_t> bad;
      for (const auto& plan : *plans)
        if (!bad) bad = halide::find_bad_index(plan, reinterpret_cast<const uint8_t*>(memory.data()), 64);
      return bad;
    };
    EXPECT_EQ(find(), std::nullopt) << "round " << round;
    for (int64_t& element : memory) {
      element = 9;
      EXPECT_EQ(find(), 9) << "round " << round;
      element = -9;
    }
  }
}

}  // namespace
}  // namespace intarsia::test
