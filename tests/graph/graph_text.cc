// Text form: parse_graph(print_graph(g)) == g, and errors that give the position.
//
// Covers: src/graph/ graph.cc compare_graphs.cc parse_graph.cc parse_tensor.cc print_graph.cc
// tensor_digest.cc text_scanner.cc text_words.cc verify_graph.cc
// src/base/ attributes.cc dtype.cc shape.cc
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "graph/parse_graph.h"
#include "graph/print_graph.h"
#include "graph/tensor_digest.h"
#include "graph/verify_graph.h"
#include "tests/support/random_graph.h"

namespace intarsia {
namespace {

ConstantResolver resolver_of(const Graph& graph) {
  return [tensors = digest_tensors(graph)](uint64_t digest) -> Result<Tensor> {
    auto at = tensors.find(digest);
    if (at == tensors.end()) return fail("no tensor has the digest {:016x}", digest);
    return at->second;
  };
}

void expect_round_trip(const Graph& graph, const PrintOptions& options = {}) {
  const std::string text = print_graph(graph, options);
  const Result<Graph> parsed = parse_graph(text, resolver_of(graph));
  ASSERT_TRUE(parsed) << parsed.error().message << "\n" << text;
  EXPECT_TRUE(*parsed == graph) << text << "became\n" << print_graph(*parsed, options);
  EXPECT_EQ(print_graph(*parsed, options), text);
}

void expect_same_text(const std::string& text) {
  const Result<Graph> graph = parse_graph(text);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print_graph(*graph), text);
}

std::string error_of(std::string_view text, const ConstantResolver& resolve = {}) {
  const Result<Graph> graph = parse_graph(text, resolve);
  return graph ? "no error" : graph.error().message;
}

constexpr float nan_f32 = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(GraphText, ReadsAndPrintsTheSame) {
  expect_same_text(R"(graph "torch_jit" opsets {"": 17, "com.microsoft": 1}
input %x : f32[batch,3,?,224]
input %s : opaque<0a04>
const %w : f32[2] = {0.5, -inf}
const %axes : i64[2] = {1, -2}
value %"a::b"
value %loose : f32[*]
%y : f32[1,"a b",112], _ = Fold(%x, %w, _) captures(%axes) {auto_pad="a\"b", strides=[2,2]} "node name"
%z : opaque<> = com.microsoft::Foo(%y) {a=1, b=1.0, c=[1.0,nan], d=["x",""], e=ints[], f=floats[], g=strings[]}
%/q/0 = "odd op".3(%z, %s) ""
() = "odd.domain!"::Sink.2(%"a::b") {body=encoded<00ff>, value=i64[1]{7}} "sink"
output %z
output %x
)");
}

TEST(GraphText, EmptyGraph) { expect_same_text("graph \"\" opsets {}\n"); }

TEST(GraphText, CommentsAndSpacesDoNotMatter) {
  const Result<Graph> graph = parse_graph(
      "\n# a\n  graph \"g\"  opsets{ \"\" :17 } # b\n\n input %x:f32[ 2 , n ]\r\n%y=Relu( %x )\noutput %y");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print_graph(*graph),
            "graph \"g\" opsets {\"\": 17}\ninput %x : f32[2,n]\n%y = Relu(%x)\noutput %y\n");
}

TEST(GraphText, EveryDtype) {
  for (int code = 1; code < dtype_count; ++code) {
    const DType dtype = static_cast<DType>(code);
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0}, Shape{5, 7}}) {
      Tensor tensor(dtype, shape);
      for (size_t i = 0; dtype != DType::string && i < tensor.bytes(); ++i)
        static_cast<uint8_t*>(tensor.data())[i] =
            static_cast<uint8_t>(dtype == DType::boolean ? i % 2 : 37 * i + 129);
      for (size_t i = 0; dtype == DType::string && i < tensor.as<std::string>().size(); ++i)
        tensor.as<std::string>()[i] = std::string(i, static_cast<char>(7 * i));
      Graph graph;
      graph.outputs = {graph.add_constant("c", tensor)};
      graph.nodes.push_back({"n", "Foo", "", 1, {}, {}, {}, {}});
      graph.nodes[0].attributes.set("value", tensor);
      expect_round_trip(graph);
      expect_round_trip(graph, {.inline_elements = 1000});
    }
  }
}

TEST(GraphText, FloatsKeepTheirBits) {
  const std::vector<float> values = {0.0f,
                                     -0.0f,
                                     0.1f,
                                     1.0f,
                                     1e30f,
                                     std::numeric_limits<float>::denorm_min(),
                                     std::numeric_limits<float>::max(),
                                     infinity,
                                     -infinity,
                                     nan_f32,
                                     -nan_f32,
                                     std::bit_cast<float>(0x7fa00001u),
                                     16777216.0f};
  Tensor tensor(DType::f32, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, tensor.as<float>().begin());
  Graph graph;
  graph.add_constant("c", tensor);
  graph.add_constant("d", Tensor(DType::f64, {}));
  graph.values[1].constant->as<double>()[0] = 0.1;
  graph.nodes.push_back({"n", "Foo", "", 1, {}, {}, {}, {}});
  graph.nodes[0].attributes.set("list", values);
  for (size_t i = 0; i < values.size(); ++i) graph.nodes[0].attributes.set(fmt::format("f{}", i), values[i]);
  expect_round_trip(graph);
  Graph other = graph;
  other.nodes[0].attributes.set("f0", -0.0f);
  EXPECT_FALSE(other == graph);
}

TEST(GraphText, BigTensorsAreResolvedByDigest) {
  Graph graph;
  Tensor big(DType::f32, {100});
  big.as<float>()[3] = 1;
  graph.outputs = {graph.add_constant("c", big)};
  const std::string text = print_graph(graph);
  EXPECT_NE(text.find("= xxh3:"), text.npos) << text;
  expect_round_trip(graph);
  EXPECT_NE(error_of(text).find("line 2, column 44: the tensor's elements are not in the text"),
            std::string::npos)
      << error_of(text);
  const auto wrong = [](uint64_t) -> Result<Tensor> { return Tensor(DType::f32, {99}); };
  EXPECT_NE(error_of(text, wrong).find("is of another type"), std::string::npos);
}

TEST(GraphText, ComparesByNamesNotIds) {
  Graph a, b;
  const ValueId x = a.add_value("x"), y = a.add_value("y");
  a.add_node({"n", "Relu", "", 17, {x}, {y}, {}, {}});
  const ValueId v = b.add_value("y"), u = b.add_value("x");
  b.add_node({"n", "Relu", "", 17, {u}, {v}, {}, {}});
  EXPECT_TRUE(a == b);
  b.value(u).type.dtype = DType::f32;
  EXPECT_FALSE(a == b);
  b.value(u).type = {};
  b.value(v).name = "z";
  EXPECT_FALSE(a == b);
}

TEST(GraphText, ErrorsGiveThePosition) {
  const std::string head = "graph \"g\" opsets {\"\": 17}\ninput %x : f32[2]\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1, column 1: want graph \"name\" opsets {...}, got the end of the text"},
      {"input %x", "line 1, column 1: want 'graph', got \"input %x\""},
      {"graph \"g\" opsets {\"\": 17, \"\": 18}", "column 33: domain \"\" has two versions"},
      {head + "%y = Relu(%z)", "line 3, column 11: '%z' is not defined on any line above"},
      {head + "%x = Relu(%x)", "line 3, column 1: '%x' is defined twice"},
      {head + "%y = Relu(%y)", "reads 'y' before it is computed"},
      {head + "%y = a::Foo(%x)",
       "line 3, column 12: the graph declares no version of domain \"a\"; want Foo.VERSION"},
      {head + "%y = Relu(%x) {a=1, a=2}", "line 3, column 22: attribute 'a' is duplicated"},
      {head + "%y = Relu(%x) {a=q}", "line 3, column 18: want an integer, got \"q}\""},
      {head + "%y = Relu(%x) {a=99999999999999999999}", "want an integer"},
      {head + "%y = Relu(%x) {a=[1,2.0]}", "line 3, column 21: want an integer, got \"2.0]}\""},
      {head + "%y = Relu(%x) {a=1e99}", "want a number that fits in f32"},
      {head + "%y = Relu(%x) more", "line 3, column 15: want the end of the line, got \"more\""},
      {head + "%y = Relu(%x", "line 3, column 13: want ',', got the end of the text"},
      {head + "%y = Relu(%x, %x)", "has 2 inputs"},
      {head + "%y = Foo(%x) captures(_)", "a capture cannot be omitted"},
      {head + "input %\"a\\q\"", "line 3, column 11: want \\\", \\\\, \\n or \\x and two hex digits"},
      {head + "input %\"a", "line 3, column 10: want a closing quote, got the end of the text"},
      {head + "input %y : f33[2]", "line 3, column 12: want a type, as in f32[2,3], got \"f33[2]\""},
      {head + "input %y : f32[2*]", "line 3, column 18: want a size (3), a symbol (batch), an expression"},
      {head + "input %y : f32[floor_div(n,0)]",
       "line 3, column 16: the expression is not defined or too large"},
      {head + "input %y : f32[-2]", "line 3, column 16: the size -2 is negative"},
      {head + "input %y : i64[2]<n>", "value 'y' of type i64[2] cannot have 1 elements that are sizes"},
      {head + "input %y : f32[1]<n>", "value 'y' of type f32[1] cannot have 1 elements that are sizes"},
      {head + "const %y : f32[n] = {}", "line 3, column 20: a tensor's type needs a shape of numbers"},
      {head + "const %y = {}", "a tensor's type needs a shape of numbers"},
      {head + "const %y : f32[2] = {1.0}", "line 3, column 25: 1 elements, the shape has 2"},
      {head + "const %y : f32[1] = {1.0, 2.0}", "line 3, column 26: more elements than the shape's 1"},
      {head + "const %y : u8[1] = {256}",
       "line 3, column 21: want an integer that fits in the tensor's type"},
      {head + "const %y : f32[1000000000000000,1000000000000000] = {}", "is too large for any memory"},
      {head + "const %y : f32[100000000000] = {}", "0 elements, the shape has 100000000000"},
      {head + "const %y : bool[2] = {1, 2}", "a boolean element that is neither 0 nor 1"},
      {head + "const %y : bool[1] = hex<02>", "a boolean element that is neither 0 nor 1"},
      {head + "const %y : f32[0,1000000000000,1000000000000] = {}", "is too large for any memory"},
      {head + "const %y : f16[1] = {1}", "want hex<...>, the only form of this type"},
      {head + "const %y : f16[1] = hex<00>", "1 bytes, the tensor has 2"},
      {head + "const %y : f16[1] = hex<0", "want pairs of hex digits"},
      {head + "const %y : string[1] = hex<00>", "strings have no hex form"},
      {head + "const %y : f32[1] = xxh3:12", "'12' is not a digest of 16 hex digits"},
      {head + "output %y", "line 3, column 8: '%y' is not defined on any line above"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_NE(error_of(text).find(message), std::string::npos)
        << text << "\ngave: " << error_of(text) << "\nwant: " << message;
  }
}

/// Checks that damaged text is an error or another graph, never a crash; what parses prints and parses to an
/// equal graph.
TEST(GraphText, SurvivesDamage) {
  const std::string text = R"(graph "g" opsets {"": 17}
input %x : f32[batch,3,?]
const %w : f32[2] = {0.5, nan(7fa00001)}
const %t : string[2] = {"a\x00", "b"}
%y : f32[*], _ = Foo(%x, _, %w) captures(%w) {a=[1,2], b=[1.0], c=["x"], e=encoded<00ff>, v=i64[1]{7}} "n"
output %y
)";
  const std::string alphabet = "%\"\\x{}[]()<>=,.:#_-0aenf?*\n ";
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % damaged.size();
      if (random() % 2)
        damaged[at] = alphabet[random() % alphabet.size()];
      else
        damaged.erase(at, 1 + random() % 4);
      if (damaged.empty()) damaged = " ";
    }
    if (const Result<Graph> graph = parse_graph(damaged)) {
      ASSERT_TRUE(verify_graph(*graph)) << damaged;
      expect_round_trip(*graph);
    }
  }
}

TEST(TextProperties, RandomGraphsRoundTrip) {
  for_each_seed(2000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 40));
    const Result<Graph> parsed = parse_graph(print_graph(graph));
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_TRUE(*parsed == graph) << print_graph(graph);
  });
}

}  // namespace
}  // namespace intarsia
