// Strips of rows: which rows each needs, which parts of a graph can have them, and that random nets in as
// little memory as they allow give what they give without a limit.
//
// Covers: backends/halide/canonicalize/ split_rows.cc
// backends/halide/memory/ split_to_fit.cc plan_workspace.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/canonicalize/simplify.h"
#include "backends/halide/canonicalize/split_rows.h"
#include "graph/print_graph.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

using halide::Rows;

Graph canonical(const std::string& nodes) {
  Graph graph = *halide::canonicalize(*make_graph("graph \"g\" opsets {\"\": 18}\n" + nodes));
  halide::simplify(graph);
  return graph;
}

/// Returns the input of that name, or what the node makes that the model names by its output.
ValueId named(const Graph& graph, std::string_view name) {
  for (size_t n = graph.nodes.size(); n-- > 0;)
    if (graph.nodes[n].name == name) return graph.nodes[n].outputs[0];
  return ValueId(std::ranges::find(graph.values, name, &Value::name) - graph.values.begin());
}

TEST(SplitRows, AStripNeedsTheRowsThatItsWindowsReach) {
  const Graph graph = canonical(R"(input %x : f32[1,2,9,8]
input %w : f32[2,2,3,3]
%a = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,2]}
%b = MaxPool(%a) {kernel_shape=[3,3], pads=[1,1,1,1]}
%c = Relu(%b)
output %c)");
  const auto part = halide::find_row_part(graph, named(graph, "x"), named(graph, "c"));
  ASSERT_TRUE(part);
  // Rows of a (of 5), b, c and x (of 9).
  EXPECT_EQ(halide::rows_of_strip(graph, *part, {0, 3}), (std::vector<Rows>{{0, 4}, {0, 3}, {0, 3}, {0, 8}}));
  EXPECT_EQ(halide::rows_of_strip(graph, *part, {3, 5}), (std::vector<Rows>{{2, 5}, {3, 5}, {3, 5}, {3, 9}}));
}

TEST(SplitRows, StripsHaveAsManyRows) {
  EXPECT_EQ(halide::divide_rows(7, 3), (std::vector<Rows>{{0, 3}, {3, 6}, {6, 7}}));
  EXPECT_EQ(halide::divide_rows(6, 4), (std::vector<Rows>{{0, 2}, {2, 4}, {4, 6}}));
}

TEST(SplitRows, PaddingStaysAtTheEdges) {
  Graph graph = canonical(R"(input %x : f32[1,1,4,4]
input %w : f32[1,1,3,3]
%y = Conv(%x, %w) {pads=[1,1,1,1]}
output %y)");
  halide::split_rows(graph, *halide::find_row_part(graph, named(graph, "x"), named(graph, "y")), 2);
  const std::string text = print_graph(graph);
  const auto find = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  EXPECT_TRUE(find("pads = [1,1,0,1]") || find("pads=[1,1,0,1]")) << text;
  EXPECT_TRUE(find("pads = [0,1,1,1]") || find("pads=[0,1,1,1]")) << text;
  EXPECT_TRUE(find("f32[1,1,3,4]") && find("Concat")) << text;
}

TEST(SplitRows, NodesThatNeedAllRowsEndAPart) {
  const Graph graph = canonical(R"(input %x : f32[1,4,8,8]
input %w : f32[4,4,1,1]
%a = Conv(%x, %w)
%b = Softmax(%a) {axis=2}
%c = Conv(%a, %w)
%d = Conv(%c, %w)
%e = Add(%d, %c)
%f = Sub(%e, %b)
output %f)");
  const auto has_part = [&](std::string_view from, std::string_view to) {
    return halide::find_row_part(graph, named(graph, from), named(graph, to)).has_value();
  };
  EXPECT_TRUE(has_part("x", "a"));
  EXPECT_TRUE(has_part("a", "e"));
  EXPECT_TRUE(has_part("c", "e"));
  EXPECT_FALSE(has_part("a", "f")) << "the Softmax needs all rows";
  EXPECT_FALSE(has_part("a", "d")) << "%c is read outside";
  EXPECT_FALSE(has_part("x", "c")) << "%a is read outside";
  EXPECT_FALSE(has_part("c", "a"));
}

/// Net of windows and elementwise operators, whose values get smaller.
class RandomNet {
 public:
  explicit RandomNet(uint32_t seed) : random_(seed) {
    channels_ = pick({1, 3, 8});
    height_ = pick({17, 32, 45, 48}), width_ = pick({5, 16, 33});
    inputs_ = fmt::format("input %x : f32[1,{},{},{}]\n", channels_, height_, width_);
    const int blocks = 2 + pick({0, 1, 2, 3});
    for (int block = 0; block < blocks; ++block) add_block();
    convolve(1, 1, 1);
    nodes_ += fmt::format("%y = Neg(%{})\n", last_);
  }

  std::string text() const {
    return fmt::format("graph \"net\" opsets {{\"\": 18}}\n{}{}output %y", inputs_, nodes_);
  }

 private:
  int pick(std::initializer_list<int> of) { return of.begin()[random_() % of.size()]; }

  std::string add(const std::string& node) {
    last_ = fmt::format("v{}", count_++);
    nodes_ += fmt::format("%{} = {}\n", last_, node);
    return last_;
  }

  std::string weights(int out, int in, int taps) {
    const std::string name = fmt::format("w_small{}", count_++);
    inputs_ += fmt::format("input %{} : f32[{},{},{},{}]\n", name, out, in, taps, taps);
    return name;
  }

  void convolve(int taps, int stride, int group) {
    const int out = group > 1 ? channels_ : pick({4, 8, 13, 24}), pad = taps / 2;
    const std::string w = weights(out, channels_ / group, taps);
    add(fmt::format("Conv(%{}, %{}) {{pads=[{},{},{},{}], strides=[{},{}], group={}}}", last_, w, pad, pad,
                    random_() % 4 == 0 ? 0 : pad, pad, stride, stride, group));
    channels_ = out;
    if (random_() % 2 == 0) add(fmt::format("Relu(%{})", last_));
  }

  void pool() {
    const int taps = pick({2, 3}), stride = pick({1, 2});
    const std::string shape = fmt::format("kernel_shape=[{},{}], strides=[{},{}], pads=[1,1,{},1]", taps,
                                          taps, stride, stride, random_() % 2);
    if (random_() % 2 == 0)
      add(fmt::format("MaxPool(%{}) {{{}}}", last_, shape));
    else
      add(fmt::format("AveragePool(%{}) {{{}, ceil_mode={}, count_include_pad={}}}", last_, shape,
                      random_() % 2, random_() % 2));
  }

  void add_block() {
    const std::string from = last_;
    const int channels = channels_;
    switch (random_() % 6) {
      case 0:
        convolve(pick({1, 3, 5}), pick({1, 2}), 1);
        break;
      case 1:  // a depthwise convolution
        convolve(1, 1, 1);
        convolve(pick({3, 5}), pick({1, 2}), channels_);
        break;
      case 2:  // a residual
        convolve(3, 1, 1);
        add(fmt::format("Conv(%{}, %{})", last_, weights(channels, channels_, 1)));
        channels_ = channels;
        if (nodes_.find("pads=[1,1,0,1], strides=[1,1]") == std::string::npos)
          add(fmt::format("Add(%{}, %{})", last_, from));
        break;
      case 3:
        pool();
        break;
      case 4: {  // two branches, side by side
        const std::string one = add(fmt::format("Conv(%{}, %{})", from, weights(8, channels, 1)));
        add(fmt::format("Conv(%{}, %{}) {{pads=[1,1,1,1]}}", from, weights(4, channels, 3)));
        add(fmt::format("Concat(%{}, %{}) {{axis=1}}", one, last_));
        channels_ = 12;
        break;
      }
      default:
        add(fmt::format("LRN(%{}) {{size=3}}", last_));
    }
  }

  std::mt19937 random_;
  int channels_, height_, width_, count_ = 0;
  std::string inputs_, nodes_, last_ = "x";
};

TEST(SplitRows, RandomNetsInLittleMemoryGiveTheSame) {
  int smaller = 0, nets = 0;
  for (uint32_t seed = 0; seed < 16 * rounds(); ++seed) {
    const std::string text = RandomNet(seed).text();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    Result<Graph> graph = make_graph(text);
    if (!graph) continue;  // sizes of a residual differ
    const std::vector<Tensor> inputs = random_inputs(*graph);
    auto want = run_reference(*graph, inputs);
    ASSERT_TRUE(want) << want.error().message;
    const int number = 1 + static_cast<int>(seed % 2);
    test::TestTeam threads(number);
    CompileOptions options{number, seed % 3 == 0 ? "x86-64-v3" : "native"};
    options.exact_math = true;
    auto whole = LoadedRegion::make(*graph, options, {});
    ASSERT_TRUE(whole) << whole.error().message;
    options.memory_bytes = (*whole)->workspace_bytes() * (3 + seed % 5) / 10;
    options.for_plain_c = true;
    auto small = LoadedRegion::make(*graph, options, {});
    ASSERT_TRUE(small) << small.error().message;
    auto before = (*whole)->run(inputs, &threads);
    auto after = (*small)->run_guarded(inputs, seed % 2 == 0, {}, &threads);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(compare((*after)[0].view(), (*want)[0].view()), "");
    // Code of other borders may sum in another order.
    EXPECT_EQ(compare((*after)[0].view(), (*before)[0].view(), 1e-5, 1e-6), "");
    ++nets;
    smaller += (*small)->workspace_bytes() < (*whole)->workspace_bytes() * 8 / 10;
  }
  EXPECT_GT(nets, 10);
  EXPECT_GT(smaller, nets / 2);
}

}  // namespace
}  // namespace intarsia::test
