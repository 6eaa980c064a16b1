// GraphDefs, message by message, become graphs.
//
// Covers: src/import/ import_tensorflow.cc control_flow_groups.cc flatten_graph.cc freeze_function.cc
// name_scope.cc operator_roles.cc
// src/tensorflow/ attributes.cc composite.cc dtypes.cc messages.cc object_graph.cc tensor_proto.cc
#include "import/import_tensorflow.h"

#include <gtest/gtest.h>

#include "base/protobuf.h"
#include "graph/print_graph.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/fields.h"
#include "tensorflow/object_graph.h"

namespace intarsia {
namespace {

using namespace tensorflow;

constexpr int32_t f32 = 1, i32 = 3, resource = 20;

NodeDef node(const std::string& name, const std::string& op, std::vector<std::string> inputs,
             std::vector<std::pair<std::string, AttributeValue>> attributes = {}) {
  NodeDef def{name, op, {}, std::move(inputs), {}};
  for (auto& [key, value] : attributes) def.attributes.set(key, std::move(value));
  return def;
}

NodeDef placeholder(const std::string& name,
                    std::optional<SymbolicShape> shape = SymbolicShape{Dim::unknown(), Dim(4)}) {
  return node(name, "Placeholder", {}, {{"dtype", encode_type(f32)}, {"shape", encode_shape(shape)}});
}

NodeDef scalar(const std::string& name, float value) {
  Tensor tensor(DType::f32, {});
  tensor.as<float>()[0] = value;
  return node(name, "Const", {}, {{"dtype", encode_type(f32)}, {"value", tensor}});
}

FunctionDef function(const std::string& name, const std::vector<ArgDef>& inputs,
                     const std::vector<ArgDef>& outputs, std::vector<NodeDef> nodes,
                     std::map<std::string, std::string> returns) {
  return {{name, inputs, outputs}, std::move(nodes), std::move(returns), {}};
}

std::string write(const std::vector<NodeDef>& nodes, const std::vector<FunctionDef>& functions = {}) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  for (const NodeDef& one : nodes)
    out.add_message(graph_def::node, write_node(one, *encode_attributes(one.attributes)));
  if (functions.empty()) return bytes;
  protozero::pbf_writer library(out, graph_def::library);
  for (const FunctionDef& one : functions)
    library.add_message(function_library::function, *write_function(one));
  return bytes;
}

/// Returns a source of operators with the outputs that the tests' functions name.
TensorFlowSource source() {
  TensorFlowSource source;
  source.find_op = [](const std::string& op) -> Result<const OpDef*> {
    static const std::map<std::string, OpDef> ops{
        {"Add", {"Add", {}, {{"z", 0, "T", {}, {}}}}},
        {"PartitionedCall", {"PartitionedCall", {}, {{"output", 0, {}, {}, "Tout"}}}},
        {"Split", {"Split", {}, {{"output", 0, "T", "num_split", {}}}}},
        {"TwoLists", {"TwoLists", {}, {{"first", 0, "T", "N", {}}, {"second", 0, "T", {}, {}}}}},
    };
    const auto at = ops.find(op);
    return at == ops.end() ? nullptr : &at->second;
  };
  return source;
}

Graph import(const std::string& bytes) {
  Result<Graph> graph = import_graph_def_bytes(bytes, source());
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *graph : Graph{};
}

std::string error_of(const std::string& bytes) {
  const Result<Graph> graph = import_graph_def_bytes(bytes, source());
  return graph ? "no error" : graph.error().message;
}

/// Describes a node as "Add(x, c:0) -> y".
std::string describe(const Graph& graph, const Node& one) {
  const auto names = [&](const std::vector<ValueId>& ids) {
    std::vector<std::string> list;
    for (ValueId id : ids) list.push_back(id == no_value ? "_" : graph.value(id).name);
    return fmt::format("{}", fmt::join(list, ", "));
  };
  return fmt::format("{}({}) -> {}", one.op, names(one.inputs), names(one.outputs));
}

std::vector<std::string> describe(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Node& one : graph.nodes) lines.push_back(describe(graph, one));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(ImportTensorFlow, PlaceholdersAreInputsAndUnreadNodesOutputs) {
  const Graph graph = import(write({placeholder("x"), scalar("c", 2), node("y", "Add", {"x", "c"})}));
  EXPECT_EQ(describe(graph), Lines{"Add(x, c:0) -> y"});
  EXPECT_EQ(print_type(graph.value(graph.inputs[0]).type), "f32[x_dim0,4]");
  EXPECT_EQ(graph.nodes[0].domain, "tensorflow");
}

TEST(ImportTensorFlow, IdentitiesAndControlEdgesVanish) {
  const Graph graph =
      import(write({placeholder("x"), node("same", "Identity", {"x"}), node("print", "Print", {"x"}),
                    node("y", "Add", {"same", "same", "^print"}), node("done", "NoOp", {"^print", "^y"})}));
  EXPECT_EQ(describe(graph), Lines{"Add(x, x) -> y"});
  EXPECT_EQ(graph.outputs.size(), 1u);
}

TEST(ImportTensorFlow, AnOutputThatIsAnInputIsCopied) {
  const Graph graph = import(write({placeholder("x"), node("y", "Identity", {"x"})}));
  EXPECT_EQ(describe(graph), Lines{"Identity(x) -> y"});
}

TEST(ImportTensorFlow, CallsAreInlined) {
  const FunctionDef twice = function("twice", {{"a", f32, {}, {}, {}}}, {{"r", f32, {}, {}, {}}},
                                     {node("sum", "Add", {"a", "a"})}, {{"r", "sum:z:0"}});
  const Graph graph =
      import(write({placeholder("x"), node("f", "PartitionedCall", {"x"}, {{"f", encode_function("twice")}}),
                    node("g", "StatefulPartitionedCall", {"f"}, {{"f", encode_function("twice")}})},
                   {twice}));
  EXPECT_EQ(describe(graph), (Lines{"Add(x, x) -> sum:0", "Add(sum:0, sum:0) -> g"}));
  EXPECT_EQ(graph.nodes[1].name, "g/sum");  // the plain name is taken
}

TEST(ImportTensorFlow, OutputsInFunctionsAreCountedOverLists) {
  const FunctionDef body =
      function("body", {{"a", f32, {}, {}, {}}}, {{"r", f32, {}, {}, {}}},
               {node("t", "TwoLists", {"a"}, {{"N", int64_t{3}}})}, {{"r", "t:second:0"}});
  const Graph graph = import(write(
      {placeholder("x"), node("f", "PartitionedCall", {"x"}, {{"f", encode_function("body")}})}, {body}));
  EXPECT_EQ(describe(graph), Lines{"TwoLists(x) -> _, _, _, f"});
}

TEST(ImportTensorFlow, LoopsOfVersionOneAreOneNode) {
  const Graph graph = import(write(
      {placeholder("x"), node("enter", "Enter", {"x"}, {{"frame_name", std::string("loop")}}),
       node("merge", "Merge", {"enter", "next"}),
       node("limit", "Const", {"^merge"}, {{"dtype", encode_type(f32)}, {"value", Tensor(DType::f32, {})}}),
       node("less", "Less", {"merge", "limit"}), node("cond", "LoopCond", {"less"}),
       node("switch", "Switch", {"merge", "cond"}), node("exit", "Exit", {"switch"}),
       node("grow", "Add", {"switch:1", "limit"}), node("next", "NextIteration", {"grow"}),
       node("y", "Add", {"exit", "x"})}));
  EXPECT_EQ(describe(graph), (Lines{"ControlFlow(x) -> exit:0", "Add(exit:0, x) -> y"}));
  const auto composite = get_composite(graph.nodes[0].attributes);
  ASSERT_TRUE(composite && *composite);
  EXPECT_EQ((*composite)->nodes.size(), 9u);
  EXPECT_EQ((*composite)->nodes[0].inputs, Lines{"@0"});
}

TEST(ImportTensorFlow, WhatCannotBeImportedSaysWhy) {
  EXPECT_NE(
      error_of(write({placeholder("x\xff"), node("y", "Add", {"x\xff"})})).find("node 'x\\xff' is not UTF-8"),
      std::string::npos);
  EXPECT_NE(error_of("\xff\xff").find("damaged protobuf"), std::string::npos);
  EXPECT_NE(error_of("").find("no nodes"), std::string::npos);
  EXPECT_NE(error_of(write({placeholder("x"), node("y", "Add", {"x", "z"})}))
                .find("reads 'z:0', which nothing produces"),
            std::string::npos);
  EXPECT_NE(error_of(write({node("a", "Add", {"b"}), node("b", "Add", {"a"}), node("y", "Add", {"a"})}))
                .find("cycle"),
            std::string::npos);
  EXPECT_NE(error_of(write({placeholder("x"), placeholder("x"), node("y", "Add", {"x"})}))
                .find("two nodes are named 'x'"),
            std::string::npos);
  EXPECT_NE(error_of(write({node("v", "VarHandleOp", {}, {{"dtype", encode_type(f32)}}),
                            node("y", "ReadVariableOp", {"v"})}))
                .find("not frozen"),
            std::string::npos);
  EXPECT_NE(error_of(write({placeholder("x"), node("y", "AssignAddVariableOp", {"x"})})).find("frozen"),
            std::string::npos);
  EXPECT_NE(
      error_of(write({placeholder("x"), node("f", "PartitionedCall", {"x"}, {{"f", encode_function("f")}})},
                     {function("f", {{"a", f32, {}, {}, {}}}, {{"r", f32, {}, {}, {}}},
                               {node("again", "PartitionedCall", {"a"}, {{"f", encode_function("f")}})},
                               {{"r", "again:output:0"}})}))
          .find("functions call each other"),
      std::string::npos);
}

TEST(ImportTensorFlow, ALoopsVariablesBecomeValues) {
  const ArgDef x{"x", f32, {}, {}, {}}, v{"v", resource, {}, {}, {}}, b{"b", 10, {}, {}, {}};
  const FunctionDef condition =
      function("cond", {x, v}, {b},
               {node("c", "Const", {}, {{"dtype", encode_type(10)}, {"value", Tensor(DType::boolean, {})}})},
               {{"b", "c:output:0"}});
  const FunctionDef body = function("body", {x, v}, {{"y", f32, {}, {}, {}}, {"w", resource, {}, {}, {}}},
                                    {node("read", "ReadVariableOp", {"v"}, {{"dtype", encode_type(f32)}}),
                                     node("sum", "Add", {"x", "read:value:0"})},
                                    {{"y", "sum:z:0"}, {"w", "v"}});
  GraphDef graph;
  graph.nodes = {placeholder("x"), node("var", "VarHandleOp", {}, {{"dtype", encode_type(f32)}}),
                 node("loop", "While", {"x", "var"},
                      {{"cond", encode_function("cond")},
                       {"body", encode_function("body")},
                       {"T", encode_types({f32, resource})}})};
  graph.functions = {{"cond", condition}, {"body", body}};
  const ReadSaved read_saved = [](const std::vector<std::string>& variables,
                                  const std::vector<SavedTable>&) -> Result<SavedContents> {
    EXPECT_EQ(variables, Lines{"var"});
    return SavedContents{{Tensor(DType::f32, {4})}, {}};
  };
  const Result<Graph> flat =
      flatten_graph(graph, {{"x:0", "x", {DType::f32, SymbolicShape{Dim(4)}, false, {}}}},
                    {{"loop:0", "y", {}}}, source(), read_saved);
  ASSERT_TRUE(flat) << flat.error().message;
  EXPECT_EQ(describe(*flat), Lines{"While(x, var) -> y"});
  EXPECT_EQ(get_types(flat->nodes[0].attributes, "T"), (std::vector<int32_t>{f32, f32}));
  EXPECT_TRUE(flat->value(flat->nodes[0].inputs[1]).constant);
  EXPECT_EQ(get_functions(*flat->nodes[0].attributes.find("body")), Lines{"body_frozen1"});
}

/// Writes a SavedObjectGraph or TrackableObjectGraph: for each object its children, (name, number).
std::string write_objects(const std::vector<std::vector<std::pair<std::string, int32_t>>>& objects) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  for (const auto& children : objects) {
    std::string object;
    protozero::pbf_writer fields(object);
    for (const auto& [name, number] : children) {
      protozero::pbf_writer child(fields, object_node::children);
      child.add_int32(object_reference::node_id, number);
      child.add_string(object_reference::local_name, name);
    }
    out.add_message(object_graph::nodes, object);  // also if it has no children
  }
  return bytes;
}

TEST(ImportTensorFlow, ObjectsAreFoundByTheNamesThatLeadToThem) {
  const ObjectGraph graph = read_saved_objects(
      write_objects({{{"layer", 1}, {"wild", 99}, {"below", -1}}, {{"kernel", 2}, {"parent", 0}}, {}, {}}));
  const auto paths = find_paths(graph);
  EXPECT_EQ(paths[2], (ObjectPath{"layer", "kernel"}));
  EXPECT_EQ(paths[3], std::nullopt);
  EXPECT_EQ(find_object(graph, {"layer", "parent", "layer", "kernel"}), &graph.objects[2]);
  EXPECT_EQ(find_object(graph, {"wild"}), nullptr);
  EXPECT_EQ(find_object(graph, {"layer", "bias"}), nullptr);
  EXPECT_EQ(find_object(read_saved_objects(""), {}), nullptr);
}

}  // namespace
}  // namespace intarsia
