// Blobs of the null backend, the template for others: the run half reads what the compile half writes, and no
// other bytes.
//
// Covers: backends/null/ load.cc target.cc
// src/target/ target.cc
#include <gtest/gtest.h>

#include "backends/null/load.h"
#include "backends/null/target.h"
#include "graph/parse_graph.h"

namespace intarsia {
namespace {

Graph relu(const std::string& shape) {
  return parse_graph("graph \"\" opsets {\"\": 18}\ninput %x : f32[" + shape + "]\n%y : f32[" + shape +
                     "] = Relu(%x) \"n\"\noutput %y\n")
      .value();
}

Result<std::unique_ptr<Executable>> load_blob(std::string_view blob) {
  LoadContext context;
  context.blob = std::as_bytes(std::span(blob));
  return null_run_backend().load(context);
}

TEST(NullBackend, RunsWhatItCompiled) {
  const NullTarget target;
  const Graph graph = relu("2,3");
  EXPECT_TRUE(drives(target, "any"));
  EXPECT_TRUE(target.supports(graph, NodeId{0}, {}).yes);
  const auto compiled = target.compile(graph, {}, {});
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto loaded = load_blob(compiled->blob);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Status run = (*loaded)->run({});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "want 1 inputs and 1 outputs, got 0 and 0");
}

TEST(NullBackend, RefusesWhatHasNoFixedShape) {
  EXPECT_EQ(NullTarget().supports(relu("batch,3"), NodeId{0}, {}).because,
            "output 'y' is f32[batch,3], which has no fixed shape");
}

TEST(NullBackend, RefusesOtherBlobs) {
  for (const char* blob :
       {"", "1", "1 ", " 1", "1 x", "x 1", "1 1 ", "-1 1", "1  1", "99999999999999999999999 1"})
    EXPECT_FALSE(load_blob(blob)) << blob;
}

}  // namespace
}  // namespace intarsia
