// Random graphs over random open sizes: code that is generated once, for all sizes, gives what the reference
// gives for the same graph with numbers, and fails where that does. INTARSIA_SEED=N runs only that graph.
//
// Covers: backends/halide/build/ build_movement.cc
// backends/halide/canonicalize/ canonicalize.cc canonicalize_movement.cc canonicalize_window.cc rewriter.cc
// backends/halide/emit/ encode_open_plan.cc
// backends/halide/runtime/ load_open_region.cc open_region.cc
// src/graph/ element_rules.cc op_table_movement.cc op_table_window.cc
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "backends/halide/canonicalize/canonicalize.h"
#include "graph/print_graph.h"
#include "tests/support/halide_support.h"
#include "tests/support/open_graph_writer.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

/// Prints which graph was running when a signal ended the process.
std::array<char, 1 << 14> running{};

void print_running(int signal) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, running.data(), std::strlen(running.data()));
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void note_running(const std::string& text) {
  std::strncpy(running.data(), text.c_str(), running.size() - 1);
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTERM}) ::signal(signal, print_running);
}

/// Drops what is particular to one graph, numbers and sizes, from why it is refused.
std::string general_reason(const std::string& reason) {
  std::string general;
  bool is_inside = false;
  for (char letter : reason.substr(0, reason.find('\n'))) {
    is_inside = letter == '[' || (is_inside && letter != ']');
    if (!is_inside && (letter < '0' || letter > '9')) general += letter;
  }
  return general;
}

std::string judge(const Graph& graph) {
  note_running(print_graph(graph));
  const Result<Graph> canonical = halide::canonicalize(graph);
  return canonical ? "" : general_reason(canonical.error().message);
}

/// What became of the graphs.
struct Tally {
  int graphs = 0, refused = 0, runs = 0, invalid = 0;
  std::map<std::string, int> reasons;

  void print() const {
    fmt::print("{} graphs ran whole, in {} runs, {} of sizes that do not work; {} were refused whole\n",
               graphs, runs, invalid, refused);
    std::vector<std::pair<int, std::string>> sorted;
    for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
    std::ranges::sort(sorted, std::greater());
    for (const auto& [count, reason] : sorted) fmt::print("  {:5} {}\n", count, reason);
  }
};

/// Returns the number that an expression has with these sizes; -1 if it divides by 0.
int64_t number_with(const Dim& size, const Sizes& sizes) {
  const Dim number = size.substitute(sizes);
  return number.is_number() ? number.number() : -1;
}

Tensor random_input(const WrittenInput& input, const Sizes& sizes, std::mt19937& random) {
  SymbolicShape shape = input.shape;
  for (Dim& size : shape) size = size.substitute(sizes);
  Tensor tensor = random_tensor(input.dtype, *static_shape(shape), random());
  if (!input.limit) return tensor;
  const int64_t limit = std::max<int64_t>(number_with(*input.limit, sizes), 1);
  // Indices may count from the end. Lengths, whose type is i32, may not.
  const auto draw = [&] { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  if (input.dtype == DType::i32)
    for (int32_t& element : tensor.as<int32_t>()) element = static_cast<int32_t>(draw());
  else
    for (int64_t& element : tensor.as<int64_t>()) element = draw() - (random() % 4 == 0 ? limit : 0);
  return tensor;
}

/// Returns the number of elements of the largest value, for these sizes.
int64_t most_elements(const Graph& graph, const Sizes& sizes) {
  int64_t most = 0;
  for (const Value& value : graph.values) {
    if (!value.type.shape) continue;
    most =
        std::max(most, number_with(product_of_dims(*value.type.shape, 0, value.type.shape->size()), sizes));
  }
  return most;
}

/// Checks that there are inputs of these sizes.
bool have_inputs(const OpenGraphWriter& written, const Sizes& sizes) {
  return std::ranges::all_of(written.inputs(), [&](const WrittenInput& input) {
    return std::ranges::all_of(input.shape, [&](const Dim& size) { return number_with(size, sizes) >= 0; });
  });
}

class OpenRun {
 public:
  OpenRun(const OpenGraphWriter& written, const Graph& open, const LoadedRegion& region, Tally& tally)
      : written_(written), open_(open), region_(region), tally_(tally) {}

  void expect_right(const Sizes& sizes, std::mt19937& random, ThreadTeam* team) {
    std::string text;
    for (const auto& [symbol, size] : sizes) text += fmt::format(" {}={}", symbol, size.print());
    SCOPED_TRACE("sizes" + text);
    note_running(written_.text() + "# sizes" + text + "\n");
    ++tally_.runs;
    std::vector<Tensor> inputs;
    for (const WrittenInput& input : written_.inputs())
      if (!input.name.starts_with("%w")) inputs.push_back(random_input(input, sizes, random));
    const Result<Graph> fixed = make_graph(written_.text(sizes));
    const auto want = fixed ? run_reference(*fixed, inputs) : tl::unexpected(fixed.error());
    if (!want) return expect_failure(sizes, inputs, want.error().message, team);
    std::vector<Shape> shapes;
    for (const Tensor& tensor : *want) shapes.push_back(tensor.shape());
    for (const bool at_end : {true, false}) {
      const auto got = region_.run_guarded(inputs, at_end, shapes, team);
      ASSERT_TRUE(got) << got.error().message;
      for (size_t i = 0; i < want->size(); ++i)
        EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view(), 1e-3, 1e-4), "")
            << "output " << open_.value(open_.outputs[i]).name << ", at end: " << at_end;
    }
  }

 private:
  void expect_failure(const Sizes& sizes, const std::vector<Tensor>& inputs, const std::string& why,
                      ThreadTeam* team) {
    ++tally_.invalid;
    // Where there is nothing to compute, or nobody reads it, a region finds no error in the numbers that say
    // how.
    if (why.contains("a size of 0 next to -1") || why.contains("out of range for the")) return;
    std::vector<Shape> shapes;
    for (ValueId output : open_.outputs) {
      Shape& shape = shapes.emplace_back();
      for (const Dim& size : *open_.value(output).type.shape)
        shape.push_back(std::max<int64_t>(number_with(size, sizes), 0));
    }
    EXPECT_FALSE(region_.run_guarded(inputs, true, shapes, team)) << "want an error: " << why;
  }

  const OpenGraphWriter& written_;
  const Graph& open_;
  const LoadedRegion& region_;
  Tally& tally_;
};

/// Draws sizes for which no value is large.
Sizes random_sizes(const OpenGraphWriter& written, const Graph& open, std::mt19937& random) {
  constexpr std::array<int64_t, 20> sizes{0,  1,  1,  2,  2,  3,  5,  7,  8,   9,
                                          11, 13, 16, 17, 31, 33, 64, 65, 127, 130};
  for (size_t most = sizes.size();; most = most > 8 ? most - 1 : most) {
    Sizes drawn;
    for (const std::string& symbol : written.symbols()) drawn[symbol] = sizes[random() % most];
    if (!have_inputs(written, drawn)) continue;
    if (most <= 8 || most_elements(open, drawn) <= 40000) return drawn;
  }
}

/// Makes a graph, generates its code once and runs it with several sizes.
bool expect_graph_right(std::mt19937& random, Tally& tally) {
  OpenGraphWriter written(random, judge);
  written.write(written.between(3, 8));
  for (const auto& [reason, count] : written.refusals()) tally.reasons[reason] += count;
  const Result<Graph> open = make_graph(written.text());
  EXPECT_TRUE(open) << written.text();
  if (!open || open->nodes.empty() || !halide::has_open_sizes(*open)) return false;
  const int threads = random() % 2 == 0 ? 1 : 2;
  const std::string text = fmt::format("code for {} threads\n{}", threads, written.text());
  SCOPED_TRACE(text);
  note_running(written.text());
  CostTable costs("");
  Tuner tuner = random_tuner(costs, static_cast<uint32_t>(random()));
  CompileOptions options{threads, random() % 4 == 0 ? "x86-64-v3" : "native"};
  if (random() % 6 == 0) options.tuner = &tuner;  // other variants of kernels than the first ones
  const auto region = LoadedRegion::make(*open, options, {});
  if (!region) {
    EXPECT_EQ(region.error().message.find("internal error"), std::string::npos) << region.error().message;
    ++tally.refused;
    ++tally.reasons["whole: " + general_reason(region.error().message)];
    return false;
  }
  ++tally.graphs;
  TestTeam team(threads);
  for (int i = 0; i < 8; ++i)
    OpenRun(written, *open, **region, tally)
        .expect_right(random_sizes(written, *open, random), random, i % 3 == 0 ? nullptr : &team);
  return true;
}

TEST(RandomSymbols, GraphsAgreeWithReferenceAtAllSizes) {
  Tally tally;
  for_each_seed(36, [&](std::mt19937& random) {
    // A graph that is refused whole is drawn again.
    for (int tries = 0; tries < 5; ++tries) {
      try {
        if (expect_graph_right(random, tally)) return;
      } catch (const std::exception& thrown) {
        FAIL() << thrown.what() << " for\n" << running.data();
      }
    }
  });
  tally.print();
  EXPECT_GT(tally.graphs, 0);
}

}  // namespace
}  // namespace intarsia::test
