// Graphs as a plug-in reads them through its C functions, with older and newer structs.
//
// Covers: backends/plugin/ graph_reader.cc src/passes/ note_quantization.cc
#include "backends/plugin/graph_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/parse_graph.h"
#include "passes/note_quantization.h"

namespace intarsia::plugin {
namespace {

template <typename Struct>
Struct sized() {
  Struct made{};
  made.struct_size = sizeof(made);
  return made;
}

class GraphReaderTest : public testing::Test {
 protected:
  GraphReaderTest() : reader_(graph_), view_(reader_.get()) {}

  intarsia_plugin_node node(size_t number) const {
    auto made = sized<intarsia_plugin_node>();
    EXPECT_EQ(view_->node(view_, number, &made), INTARSIA_PLUGIN_OK);
    return made;
  }
  intarsia_plugin_value value(size_t number) const {
    auto made = sized<intarsia_plugin_value>();
    EXPECT_EQ(view_->value(view_, number, &made), INTARSIA_PLUGIN_OK);
    return made;
  }
  intarsia_plugin_attribute attribute(size_t of, size_t number) const {
    auto made = sized<intarsia_plugin_attribute>();
    EXPECT_EQ(view_->attribute(view_, of, number, &made), INTARSIA_PLUGIN_OK);
    return made;
  }

  Graph graph_ = parse_graph(R"(graph "g" opsets {"": 18}
input %x : f32[batch,2]
const %w : f32[2] = {1, 2.5}
%a : f32[batch,2] = Add(%x, %w) "add"
%y : f32[batch*2+1,?] = LeakyRelu(%a) {alpha = 0.5} "act"
output %y
)")
                     .value();
  GraphReader reader_;
  const intarsia_plugin_graph* view_;
};

TEST(GraphReaderQuantization, IsAFactAlsoInARegionWithoutItsOperators) {
  Graph graph = parse_graph(R"(graph "g" opsets {"": 18}
input %x : f32[2,2]
const %s : f32[2] = {0.5, 0.25}
const %z : u8[2] = {128, 3}
%q : u8[2,2] = QuantizeLinear(%x, %s, %z) {axis = 0} "q"
%r : u8[2,2] = Identity(%q) "r"
%y : f32[2,2] = DequantizeLinear(%r, %s) "d"
output %y
)")
                    .value();
  note_quantization(graph);
  const std::vector<NodeId> nodes{NodeId{1}};
  const Graph region = extract_subgraph(graph, nodes, BoundaryFinder(graph).find(nodes));
  const GraphReader reader(region);
  auto value = sized<intarsia_plugin_value>();
  ASSERT_EQ(reader.get()->value(reader.get(), reader.get()->inputs[0], &value), INTARSIA_PLUGIN_OK);
  ASSERT_EQ(value.quantization_count, 2u);
  EXPECT_EQ(value.scales[1], 0.25f);
  EXPECT_EQ(value.zero_points[0], 128);
  EXPECT_EQ(value.quantization_axis, 0);
  ASSERT_EQ(reader.get()->value(reader.get(), reader.get()->outputs[0], &value), INTARSIA_PLUGIN_OK);
  ASSERT_EQ(value.quantization_count, 2u);
  EXPECT_EQ(value.zero_points[1], 0);
}

TEST_F(GraphReaderTest, Nodes) {
  ASSERT_EQ(view_->node_count, 2u);
  const intarsia_plugin_node add = node(0);
  EXPECT_STREQ(add.name, "add");
  EXPECT_STREQ(add.op, "Add");
  EXPECT_STREQ(add.domain, "");
  EXPECT_EQ(add.version, 18);
  ASSERT_EQ(add.input_count, 2u);
  ASSERT_EQ(add.output_count, 1u);
  EXPECT_EQ(node(1).inputs[0], add.outputs[0]);
  ASSERT_EQ(view_->input_count, 1u);
  EXPECT_EQ(view_->inputs[0], add.inputs[0]);
  ASSERT_EQ(view_->output_count, 1u);
  EXPECT_EQ(view_->outputs[0], node(1).outputs[0]);
}

TEST_F(GraphReaderTest, Values) {
  const intarsia_plugin_value x = value(view_->inputs[0]), w = value(node(0).inputs[1]),
                              y = value(view_->outputs[0]);
  EXPECT_STREQ(x.name, "x");
  EXPECT_EQ(x.dtype, 1);
  ASSERT_EQ(x.rank, 2);
  EXPECT_EQ(x.sizes[0], -1);
  EXPECT_STREQ(x.size_texts[0], "batch");
  EXPECT_EQ(x.sizes[1], 2);
  EXPECT_STREQ(x.size_texts[1], "2");
  EXPECT_EQ(x.data, nullptr);
  EXPECT_EQ(x.producer, INTARSIA_PLUGIN_NONE);
  ASSERT_EQ(w.bytes, 8u);
  EXPECT_EQ(static_cast<const float*>(w.data)[1], 2.5f);
  EXPECT_STREQ(y.size_texts[0], "2*batch+1");
  EXPECT_STREQ(y.size_texts[1], "?");
  EXPECT_EQ(y.producer, 1u);
}

TEST_F(GraphReaderTest, Attributes) {
  ASSERT_EQ(node(1).attribute_count, 1u);
  const intarsia_plugin_attribute alpha = attribute(1, 0);
  EXPECT_STREQ(alpha.name, "alpha");
  ASSERT_EQ(alpha.count, 1u);
  EXPECT_EQ(alpha.floats[0], 0.5f);
  EXPECT_EQ(alpha.ints, nullptr);
}

TEST_F(GraphReaderTest, WhatIsNotThereIsRefused) {
  auto a = sized<intarsia_plugin_node>();
  auto b = sized<intarsia_plugin_value>();
  auto c = sized<intarsia_plugin_attribute>();
  EXPECT_EQ(view_->node(view_, 2, &a), INTARSIA_PLUGIN_FAILED);
  EXPECT_EQ(view_->value(view_, INTARSIA_PLUGIN_NONE, &b), INTARSIA_PLUGIN_FAILED);
  EXPECT_EQ(view_->attribute(view_, 0, 0, &c), INTARSIA_PLUGIN_FAILED);
}

TEST_F(GraphReaderTest, AnOlderHeadersStructIsFilledToItsEnd) {
  auto older = sized<intarsia_plugin_node>();
  older.struct_size = offsetof(intarsia_plugin_node, domain);
  older.domain = "untouched";
  ASSERT_EQ(view_->node(view_, 0, &older), INTARSIA_PLUGIN_OK);
  EXPECT_STREQ(older.op, "Add");
  EXPECT_STREQ(older.domain, "untouched");
  EXPECT_EQ(older.struct_size, offsetof(intarsia_plugin_node, domain));
}

TEST_F(GraphReaderTest, AsOnnx) {
  const void *bytes = nullptr, *again = nullptr;
  size_t size = 0;
  char text[64] = {};
  const intarsia_plugin_message message{sizeof(message), text, sizeof(text)};
  ASSERT_EQ(view_->onnx(view_, &bytes, &size, &message), INTARSIA_PLUGIN_OK) << text;
  const std::string_view model(static_cast<const char*>(bytes), size);
  EXPECT_NE(model.find("LeakyRelu"), std::string_view::npos);
  ASSERT_EQ(view_->onnx(view_, &again, &size, &message), INTARSIA_PLUGIN_OK);
  EXPECT_EQ(bytes, again);
}

}  // namespace
}  // namespace intarsia::plugin
