// ONNX models, made here message by message, become graphs; what is wrong with a model is an error that names
// it.
//
// Covers: src/import/ import_onnx.cc onnx_attributes.cc onnx_messages.cc onnx_subgraph.cc onnx_tensor.cc
// size_expressions.cc
// src/base/files/ mapped_file.cc
// src/base/ utf8.cc
#include "import/import_onnx.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "graph/parse_graph.h"
#include "graph/print_graph.h"
#include "tests/support/imported_bytes.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

using namespace onnx;
using Type = onnx::attribute::Type;

void expect_import(const std::string& model, const std::string& text) {
  const Result<Graph> graph = import_onnx_bytes(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print_graph(*graph), "graph \"g\" opsets {\"\": 17, \"local\": 1}\n" + text);
  const Result<Graph> parsed = parse_graph(print_graph(*graph));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(*parsed == *graph);
}

TEST(ImportOnnx, NamesOfSizesMayBeExpressions) {
  expect_import(model_message({.nodes = {node_message("Odd", {"past", "mask", "odd"}, {"y"}, {}, "local")},
                               .inputs = {value_message("past", DType::f32, {"batch", "past"}),
                                          value_message("mask", DType::f32, {"batch", "past + 1"}),
                                          value_message("odd", DType::f32,
                                                        {"past - other", "(2*past + 4)//2", "past/2"})},
                               .outputs = {value_message("y", DType::f32, {"batch * past"})}}),
                R"(input %past : f32[batch,past]
input %mask : f32[batch,past+1]
input %odd : f32["past - other",past+2,"past/2"]
%y : f32[batch*past] = local::Odd(%past, %mask, %odd)
output %y
)");
}

TEST(ImportOnnx, NodesConstantsAndSymbols) {
  expect_import(
      model_message(
          {.nodes = {node_message("Add", {"x", "w"}, {"t"}, {}, "", "sum"),
                     node_message("Odd", {"t", ""}, {"y", ""}, {attribute_int("k", 3)}, "local")},
           .initializers = {floats_message("w", {1, 2})},
           .inputs = {value_message("x", DType::f32, {"batch", 2}), value_message("w", DType::f32, {2})},
           .outputs = {output_y},
           .value_infos = {value_message("t", DType::f32, {"batch", 2})}}),
      R"(input %x : f32[batch,2]
const %w : f32[2] = {1.0, 2.0}
%t : f32[batch,2] = Add(%x, %w) "sum"
%y, _ = local::Odd(%t, _) {k=3}
output %y
)");
}

TEST(ImportOnnx, NodesAreSorted) {
  expect_import(
      model_message({.nodes = {node_message("Relu", {"t"}, {"y"}), node_message("Exp", {"x"}, {"t"})},
                     .inputs = {input_x},
                     .outputs = {output_y}}),
      "input %x : f32[2]\n%t = Exp(%x)\n%y = Relu(%t)\noutput %y\n");
}

TEST(ImportOnnx, OpenSizesGetNames) {
  const std::string no_dim = Message().message(shape::dim, "").message(shape::dim, "").bytes;
  const std::string tensor_message =
      Message().number(tensor_type::elem_type, 1).message(tensor_type::shape, no_dim).bytes;
  const std::string x =
      Message()
          .text(value_info::name, "x")
          .message(value_info::type, Message().message(type::tensor_type, tensor_message).bytes)
          .bytes;
  expect_import(model_message({.inputs = {x}, .outputs = {value_message("x")}}),
                "input %x : f32[x_dim0,x_dim1]\noutput %x\n");
}

TEST(ImportOnnx, TypesOfInputs) {
  const std::string tensor_message =
      Message().number(tensor_type::elem_type, 1).message(tensor_type::shape, "").bytes;
  const auto input = [](const std::string& type_message) {
    return model_message(
        {.inputs = {Message().text(value_info::name, "x").message(value_info::type, type_message).bytes},
         .outputs = {value_message("x")}});
  };
  const std::string tensor_type_message = Message().message(type::tensor_type, tensor_message).bytes;
  const std::string sequence_message = Message().message(4, tensor_type_message).bytes;
  expect_import(input(Message{tensor_type_message}.text(type::denotation, "IMAGE").bytes),
                "input %x : f32[]\noutput %x\n");
  expect_import(input(sequence_message), "input %x : opaque<22060a0408011200>\noutput %x\n");
  expect_import(input(tensor_type_message + sequence_message),
                "input %x : opaque<0a040801120022060a0408011200>\noutput %x\n");
}

TEST(ImportOnnx, StructureErrors) {
  const auto with_nodes = [](const Messages& nodes) {
    return model_message({.nodes = nodes, .inputs = {input_x}, .outputs = {output_y}});
  };
  expect_error("", "is not an ONNX model: it has no graph");
  expect_error("not a model at all", "ONNX model");
  expect_error(with_nodes({}), "no node produces output 'y'");
  expect_error(with_nodes({node_message("Add", {"x", "y"}, {"t"}), node_message("Relu", {"t"}, {"y"})}),
               "is on a cycle");
  expect_error(with_nodes({node_message("Add", {"x", "y"}, {"y"}, {}, "", "self")}),
               "node 'self' (Add) is on a cycle");
  expect_error(with_nodes({node_message("Relu", {"x"}, {"y"}), node_message("Exp", {"x"}, {"y"})}),
               "value 'y' is defined twice");
  expect_error(with_nodes({node_message("Relu", {"x"}, {"x"}), node_message("Exp", {"x"}, {"y"})}),
               "value 'x' is defined twice");
  expect_error(with_nodes({node_message("Add", {"x", "nowhere"}, {"y"})}),
               "node 'y' (Add) reads 'nowhere', which nothing produces");
  expect_error(with_nodes({node_message("Relu", {"x", "x"}, {"y"})}), "has 2 inputs");
  expect_error(with_nodes({node_message("Add", {"x", ""}, {"y"})}), "omits its input 1");
  expect_error(model_message({.inputs = {input_x}}), "has no outputs");
  expect_error(model_message({.inputs = {input_x, input_x}, .outputs = {value_message("x")}}),
               "input 'x' is defined twice");
  expect_error(model_message({.initializers = {floats_message("w", {1}), floats_message("w", {2})},
                              .outputs = {value_message("w")}}),
               "constant 'w' is defined twice");
  expect_error(
      model_message({.inputs = {value_message("x", DType::f32, {-3})}, .outputs = {value_message("x")}}),
      "input 'x' has a negative size");
  expect_error(model_message({.inputs = {value_message("x")}, .outputs = {value_message("x")}}),
               "input 'x' has no known element type");
  expect_error(model_message({.nodes = {node_message("Relu", {"x"}, {"y"})},
                              .inputs = {input_x},
                              .outputs = {output_y, output_y}}),
               "output 'y' is listed twice");
}

TEST(ImportOnnx, NamesAreUtf8) {
  const auto with_node = [](const std::string& node, const std::string& output = "y") {
    return model_message({.nodes = {node}, .inputs = {input_x}, .outputs = {value_message(output)}});
  };
  expect_error(with_node(node_message("Relu", {"x"}, {"y"}, {}, "", "re\xfflu")),
               "node number 0: its name 're\\xfflu' is not UTF-8");
  expect_error(with_node(node_message("Re\xc0\xaf", {"x"}, {"y"})),
               "node number 0: its operator 'Re\\xc0\\xaf' is not UTF-8");
  expect_error(with_node(node_message("Relu", {"x"}, {"\xed\xa0\x80"}), "\xed\xa0\x80"),
               "its output '\\xed\\xa0\\x80' is not UTF-8");
  expect_error(
      model_message({.inputs = {value_message("\xf5", DType::f32, {3})}, .outputs = {value_message("x")}}),
      "input '\\xf5' is not UTF-8");
  expect_error(
      model_message({.initializers = {floats_message("w\xe2\x82", {1})}, .outputs = {value_message("w")}}),
      "constant 'w\\xe2\\x82' is not UTF-8");
  const Result<Graph> fine =
      import_onnx_bytes(with_node(node_message("Relu", {"x"}, {"y"}, {}, "", "größe é 漢 😀")));
  ASSERT_TRUE(fine) << fine.error().message;
  EXPECT_EQ(fine->nodes[0].name, "größe é 漢 😀");
}

TEST(ImportOnnx, Versions) {
  const GraphParts parts = {
      .nodes = {node_message("Relu", {"x"}, {"y"})}, .inputs = {input_x}, .outputs = {output_y}};
  expect_error(model_message(parts, {}, 17, newest_ir_version + 1),
               "has ONNX IR version 15, this Intarsia reads up to 14");
  expect_error(model_message(parts, {}, newest_opset + 1), "has opset 29, this Intarsia reads 1 to 28");
  expect_error(model_message(parts, {}, oldest_opset - 1), "has opset 0, this Intarsia reads 1 to 28");
  const std::string no_opset =
      Message().number(model::ir_version, 8).message(model::graph, graph_message(parts)).bytes;
  expect_error(no_opset, "node 'y' (Relu): the model does not declare a version of the standard operators");
}

TEST(ImportOnnx, FunctionsAreInlined) {
  const std::string inner =
      function_message("Inner", {"a", "b"}, {"c"},
                       {node_message("Add", {"a", "b"}, {"t"}), node_message("Relu", {"t"}, {"c"})});
  const std::string outer = function_message("Outer", {"p"}, {"q"},
                                             {node_message("Inner", {"p", "p"}, {"u"}, {}, "local"),
                                              node_message("Inner", {"u", "p"}, {"q"}, {}, "local")});
  expect_import(model_message({.nodes = {node_message("Outer", {"x"}, {"y"}, {}, "local", "call")},
                               .inputs = {input_x},
                               .outputs = {output_y}},
                              {inner, outer}),
                R"(input %x : f32[2]
%call#0/u#1/t = Add(%x, %x)
%call#0/u = Relu(%call#0/u#1/t) "call#0/u#1/c"
%call#0/q#2/t = Add(%call#0/u, %x)
%y = Relu(%call#0/q#2/t) "call#0/q#2/c"
output %y
)");
}

TEST(ImportOnnx, AttributesOfFunctions) {
  const Messages body = {
      node_message("Concat", {"a", "a"}, {"c"},
                   {attribute_ref("axis", "way", Type::i), attribute_ref("gone", "missing", Type::i)})};
  const std::string with_default = function_message("F", {"a"}, {"c"}, body, {attribute_int("way", 7)});
  const std::string outer = function_message(
      "G", {"a"}, {"c"},
      {node_message("F", {"a"}, {"c"}, {attribute_ref("way", "outer_way", Type::i)}, "local")});
  expect_import(
      model_message({.nodes = {node_message("F", {"x"}, {"s"}, {}, "local"),
                               node_message("F", {"s"}, {"t"}, {attribute_int("way", 1)}, "local"),
                               node_message("G", {"t"}, {"y"}, {attribute_int("outer_way", 2)}, "local")},
                     .inputs = {input_x},
                     .outputs = {output_y}},
                    {with_default, outer}),
      R"(input %x : f32[2]
%s = Concat(%x, %x) {axis=7} "s#0/c"
%t = Concat(%s, %s) {axis=1} "t#1/c"
%y = Concat(%t, %t) {axis=2} "y#2/c#3/c"
output %y
)");
}

TEST(ImportOnnx, FunctionsPassAndLeaveOut) {
  const std::string pass =
      function_message("Pass", {"a", "b"}, {"a", "d"}, {node_message("Foo", {"a", "b"}, {"d"}, {}, "local")});
  expect_import(model_message({.nodes = {node_message("Pass", {"x"}, {"y"}, {}, "local")},
                               .inputs = {input_x},
                               .outputs = {output_y}},
                              {pass}),
                R"(input %x : f32[2]
%y#0/d = local::Foo(%x, _)
%y = Identity(%x)
output %y
)");
}

TEST(ImportOnnx, FunctionErrors) {
  const std::string forever =
      function_message("F", {"a"}, {"c"}, {node_message("F", {"a"}, {"c"}, {}, "local")});
  expect_error(model_message({.nodes = {node_message("F", {"x"}, {"y"}, {}, "local")},
                              .inputs = {input_x},
                              .outputs = {output_y}},
                             {forever}),
               "functions call each other more than 32 deep");
  const std::string unmade = function_message("F", {"a"}, {"c"}, {node_message("Relu", {"a"}, {"d"})});
  expect_error(model_message({.nodes = {node_message("F", {"x"}, {"y"}, {}, "local")},
                              .inputs = {input_x},
                              .outputs = {output_y}},
                             {unmade}),
               "no node produces output 'y'");
}

/// Checks functions that each call the next one many times, where the last does nothing: the model stays
/// small, the calls would not.
TEST(ImportOnnx, InliningIsBounded) {
  Messages functions = {function_message("F8", {"a"}, {"a"}, {})};
  for (int level = 0; level < 8; ++level) {
    const std::string call = node_message("F" + std::to_string(level + 1), {"a"}, {}, {}, "local");
    functions.push_back(function_message("F" + std::to_string(level), {"a"}, {"a"}, Messages(50, call)));
  }
  expect_error(model_message({.nodes = {node_message("F0", {"x"}, {"y"}, {}, "local")},
                              .inputs = {input_x},
                              .outputs = {output_y}},
                             functions),
               "nodes after its functions are inlined");
}

TEST(ImportOnnx, CapturesOfSubgraphs) {
  const std::string then_branch = branch({node_message("Add", {"t", "x"}, {"a"})}, "a");
  const std::string inner = branch({node_message("Neg", {"own"}, {"q"})}, "q");
  const std::string else_branch = branch(
      {node_message("Exp", {"t"}, {"own"}), node_message("If", {"c"}, {"b"},
                                                         {attribute_graph("then_branch", inner),
                                                          attribute_graph("else_branch", branch({}, "w"))})},
      "b");
  const std::string model =
      model_message({.nodes = {node_message("If", {"c"}, {"y"},
                                            {attribute_graph("then_branch", then_branch),
                                             attribute_graph("else_branch", else_branch)}),
                               node_message("Relu", {"x"}, {"t"})},
                     .initializers = {floats_message("w", {1, 2})},
                     .inputs = {input_x, value_message("c", DType::boolean, {})},
                     .outputs = {output_y}});
  const Result<Graph> graph = import_onnx_bytes(model);
  ASSERT_TRUE(graph) << graph.error().message;
  const Node& node = graph->nodes.back();
  EXPECT_EQ(node.op, "If");
  std::vector<std::string> captures;
  for (ValueId id : node.captures) captures.push_back(graph->value(id).name);
  EXPECT_EQ(captures, (std::vector<std::string>{"t", "x", "c", "w"}));
}

TEST(ImportOnnx, CapturesInsideFunctionsAreRenamed) {
  const std::string then_branch =
      branch({node_message("Add", {"t", "a"}, {"r"}, {attribute_ref("k", "way", Type::i)})}, "r");
  const std::string function = function_message(
      "F", {"a", "c"}, {"z"},
      {node_message("Exp", {"a"}, {"t"}), node_message("If", {"c"}, {"z"},
                                                       {attribute_graph("then_branch", then_branch),
                                                        attribute_graph("else_branch", branch({}, "t"))})});
  const std::string model = model_message(
      {.nodes = {node_message("F", {"x", "c"}, {"y"}, {attribute_int("way", 5)}, "local", "call")},
       .inputs = {input_x, value_message("c", DType::boolean, {})},
       .outputs = {output_y}},
      {function});
  const Result<Graph> graph = import_onnx_bytes(model);
  ASSERT_TRUE(graph) << graph.error().message;
  const Node& node = graph->nodes.back();
  ASSERT_EQ(node.captures.size(), 2u);
  EXPECT_EQ(graph->value(node.captures[0]).name, "call#0/t");
  EXPECT_EQ(graph->value(node.captures[1]).name, "x");
  const std::string& body = std::get<EncodedAttribute>(*node.attributes.find("then_branch")).bytes;
  EXPECT_NE(body.find("call#0/t"), std::string::npos);
  EXPECT_NE(body.find(attribute_int("k", 5)), std::string::npos);
  EXPECT_EQ(body.find("way"), std::string::npos);
}

TEST(ImportOnnx, MissingCaptureAndDeepNesting) {
  const GraphParts parts = {
      .nodes = {node_message(
          "If", {"c"}, {"y"},
          {attribute_graph("then_branch", branch({node_message("Relu", {"lost"}, {"r"})}, "r"))})},
      .inputs = {value_message("c", DType::boolean, {})},
      .outputs = {output_y}};
  expect_error(model_message(parts), "reads 'lost', which nothing produces");
  std::string body = branch({}, "c");
  for (int i = 0; i < 100; ++i)
    body = branch({node_message("If", {"c"}, {"r"}, {attribute_graph("then_branch", body)})}, "r");
  expect_error(
      model_message({.nodes = {node_message("If", {"c"}, {"y"}, {attribute_graph("then_branch", body)})},
                     .inputs = {value_message("c", DType::boolean, {})},
                     .outputs = {output_y}}),
      "nested too deeply");
}

/// Returns the text of what a Constant node with this attribute becomes.
std::string constant_text(const std::string& attribute) {
  const Result<Graph> graph = import_onnx_bytes(
      model_message({.nodes = {node_message("Constant", {}, {"y"}, {attribute})}, .outputs = {output_y}}));
  if (!graph) return graph.error().message;
  const std::string text = print_graph(*graph);
  return text.substr(text.find('\n') + 1, text.find("\noutput") - text.find('\n') - 1);
}

TEST(ImportOnnx, ConstantsInEveryForm) {
  EXPECT_EQ(constant_text(attribute_tensor("value", floats_message("", {1, 2}))),
            "const %y : f32[2] = {1.0, 2.0}");
  EXPECT_EQ(constant_text(attribute_message("value_float", Type::f).real(attribute::f, 2.5f).bytes),
            "const %y : f32[] = {2.5}");
  EXPECT_EQ(constant_text(attribute_int("value_int", -3)), "const %y : i64[] = {-3}");
  EXPECT_EQ(constant_text(attribute_message("value_string", Type::s).text(attribute::s, "a b").bytes),
            "const %y : string[] = {\"a b\"}");
  EXPECT_EQ(constant_text(attribute_message("value_ints", Type::ints)
                              .number(attribute::ints, 1)
                              .number(attribute::ints, 2)
                              .bytes),
            "const %y : i64[2] = {1, 2}");
  EXPECT_EQ(constant_text(attribute_message("value_floats", Type::floats).real(attribute::floats, 1).bytes),
            "const %y : f32[1] = {1.0}");
  EXPECT_EQ(constant_text(attribute_message("value_floats", Type::floats).bytes), "const %y : f32[0] = {}");
  EXPECT_EQ(
      constant_text(attribute_message("value_strings", Type::strings).text(attribute::strings, "a").bytes),
      "const %y : string[1] = {\"a\"}");
  const std::string packed = attribute_message("value_ints", Type::ints)
                                 .with([](auto& out) {
                                   const std::vector<int64_t> values = {4, -5};
                                   out.add_packed_int64(attribute::ints, values.begin(), values.end());
                                 })
                                 .bytes;
  EXPECT_EQ(constant_text(packed), "const %y : i64[2] = {4, -5}");
}

TEST(ImportOnnx, SparseTensors) {
  const std::string values = floats_message("y", {5, 6});
  const auto import = [](const std::string& sparse) {
    return model_message({.outputs = {output_y}, .sparse_initializers = {sparse}});
  };
  const std::string dense = "const %y : f32[2,3] = {0.0, 5.0, 0.0, 6.0, 0.0, 0.0}\noutput %y\n";
  expect_import(import(sparse_message(values, ints_message("", {1, 3}), {2, 3})), dense);
  expect_import(
      import(sparse_message(values, tensor_message("", DType::i64, {2, 2}, raw_bytes<int64_t>({0, 1, 1, 0})),
                            {2, 3})),
      dense);
  expect_error(import(sparse_message(values, ints_message("", {1, 6}), {2, 3})),
               "sparse index 6 is out of range");
  expect_error(import(sparse_message(values, ints_message("", {1, -1}), {2, 3})),
               "sparse index -1 is out of range");
  expect_error(import(sparse_message(values, ints_message("", {1}), {2, 3})), "sparse indices have shape");
  expect_error(import(sparse_message(values, ints_message("", {1, 2}), {1 << 20, 1 << 20})),
               "too large to be made dense");
  const std::string attribute =
      Message()
          .text(attribute::name, "sparse_value")
          .number(attribute::type, 11)
          .message(attribute::sparse_tensor, sparse_message(values, ints_message("", {1, 3}), {2, 3}))
          .bytes;
  EXPECT_EQ(constant_text(attribute), "const %y : f32[2,3] = {0.0, 5.0, 0.0, 6.0, 0.0, 0.0}");
}

/// Checks that equal elements in raw_data and in the typed field of the ONNX standard give equal constants.
TEST(ImportOnnx, EveryDtypeRawAndTyped) {
  for (int code = 1; code < dtype_count; ++code) {
    const DType dtype = static_cast<DType>(code);
    if (dtype == DType::string) continue;
    const int64_t elements = 8;  // whole bytes also for two and four bits
    std::string raw(dtype_bytes(dtype, elements), '\0');
    for (size_t i = 0; i < raw.size(); ++i)
      raw[i] = static_cast<char>(dtype == DType::boolean ? i % 2 : 11 * i + 1);
    const auto unit = [&](auto zero, size_t i) {
      std::memcpy(&zero, raw.data() + i * sizeof(zero), sizeof(zero));
      return zero;
    };
    Message typed =
        Message().number(tensor::dims, elements).number(tensor::data_type, code).text(tensor::name, "y");
    const int bits = dtype_bits(dtype);
    for (size_t i = 0;
         i < raw.size() * 8 / static_cast<size_t>(std::max(8, is_complex(dtype) ? bits / 2 : bits)); ++i) {
      typed.with([&](auto& out) {
        if (dtype == DType::f32 || dtype == DType::c64)
          out.add_float(tensor::float_data, unit(0.0f, i));
        else if (dtype == DType::f64 || dtype == DType::c128)
          out.add_double(tensor::double_data, unit(0.0, i));
        else if (dtype == DType::i64)
          out.add_int64(tensor::int64_data, unit(int64_t{0}, i));
        else if (dtype == DType::u64)
          out.add_uint64(tensor::uint64_data, unit(uint64_t{0}, i));
        else if (dtype == DType::u32)
          out.add_uint64(tensor::uint64_data, unit(uint32_t{0}, i));
        else if (dtype == DType::i32)
          out.add_int32(tensor::int32_data, unit(int32_t{0}, i));
        else if (dtype == DType::i16)
          out.add_int32(tensor::int32_data, unit(int16_t{0}, i));
        else if (bits == 16)
          out.add_int32(tensor::int32_data, unit(uint16_t{0}, i));
        else if (dtype == DType::i8)
          out.add_int32(tensor::int32_data, unit(int8_t{0}, i));
        else
          out.add_int32(tensor::int32_data, unit(uint8_t{0}, i));
      });
    }
    const Result<Graph> a =
        import_onnx_bytes(model_message({.initializers = {typed.bytes}, .outputs = {output_y}}));
    const Result<Graph> b = import_onnx_bytes(model_message(
        {.initializers = {tensor_message("y", dtype, {elements}, raw)}, .outputs = {output_y}}));
    ASSERT_TRUE(a) << dtype_name(dtype) << ": " << a.error().message;
    ASSERT_TRUE(b) << dtype_name(dtype) << ": " << b.error().message;
    EXPECT_TRUE(*a == *b) << dtype_name(dtype) << "\n" << print_graph(*a) << print_graph(*b);
    EXPECT_EQ(std::memcmp(b->values[0].constant->data(), raw.data(), raw.size()), 0) << dtype_name(dtype);
  }
  const std::string strings = Message()
                                  .number(tensor::dims, 2)
                                  .number(tensor::data_type, 8)
                                  .text(tensor::name, "y")
                                  .text(tensor::string_data, "a")
                                  .text(tensor::string_data, "")
                                  .bytes;
  expect_import(model_message({.initializers = {strings}, .outputs = {output_y}}),
                "const %y : string[2] = {\"a\", \"\"}\noutput %y\n");
}

TEST(ImportOnnx, TensorErrors) {
  const auto import = [](const std::string& tensor) {
    return model_message({.initializers = {tensor}, .outputs = {output_y}});
  };
  expect_error(import(tensor_message("y", DType::f32, {2}, "1234567")),
               "tensor 'y': has 7 bytes, shape 2 of f32 wants 8");
  expect_error(import(tensor_message("y", DType::f32, {-2}, "")), "negative size");
  expect_error(import(tensor_message("y", DType::f32, {1 << 30, 1 << 30}, "")), "too large for any memory");
  expect_error(import(tensor_message("y", static_cast<DType>(99), {1}, "a")), "has unknown data type 99");
  expect_error(import(tensor_message("y", DType::f32, {0, int64_t{1} << 40, int64_t{1} << 40}, "")),
               "too large for any memory");
  expect_error(import(tensor_message("y", DType::boolean, {2}, std::string("\1\2", 2))),
               "has a boolean element that is neither 0 nor 1");
  const auto typed = [](int64_t dim, DType dtype) {
    return Message()
        .number(tensor::dims, dim)
        .number(tensor::data_type, static_cast<int64_t>(dtype))
        .text(tensor::name, "y")
        .real(tensor::float_data, 1)
        .bytes;
  };
  expect_error(import(typed(2, DType::f32)), "tensor 'y': does not have as many elements as shape 2 wants");
  expect_error(import(typed(0, DType::f32)), "does not have as many elements");
  expect_error(import(typed(int64_t{1} << 40, DType::f32)), "has fewer elements than shape");
  expect_error(import(typed(1, DType::string)), "has 0 strings, its shape wants 1");
  expect_error(import(tensor_message("y", DType::string, {1}, "a")), "holds strings in an invalid form");
}

/// Folder with a model that has external data, and a file next to the folder.
class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(root_ / "model" / "weights");
    write("secret.bin", raw_bytes<float>({9, 9}));
    write("model/weights/w.bin", raw_bytes<float>({0, 0, 1, 2}));
    std::filesystem::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(root_ / name, std::ios::binary) << bytes;
  }

  Result<Graph> import(const std::vector<std::pair<std::string, std::string>>& entries) {
    Message tensor = Message()
                         .number(tensor::dims, 2)
                         .number(tensor::data_type, 1)
                         .text(tensor::name, "y")
                         .number(tensor::data_location, 1);
    for (const auto& [key, value] : entries)
      tensor.message(tensor::external_data,
                     Message().text(string_entry::key, key).text(string_entry::value, value).bytes);
    write("model/m.onnx", model_message({.initializers = {tensor.bytes}, .outputs = {output_y}}));
    return import_onnx((root_ / "model" / "m.onnx").string());
  }

  void expect_refused(const std::vector<std::pair<std::string, std::string>>& entries,
                      const std::string& message) {
    const Result<Graph> graph = import(entries);
    ASSERT_FALSE(graph) << message;
    EXPECT_NE(graph.error().message.find(message), std::string::npos)
        << "want " << message << ", got " << graph.error().message;
  }

  const test::TestFolder temporary_;
  const std::filesystem::path root_ = temporary_.path();
};

TEST_F(ExternalData, IsRead) {
  const Result<Graph> graph = import({{"location", "weights/w.bin"}, {"offset", "8"}, {"length", "8"}});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->values[0].constant->as<float>()[1], 2);
}

TEST_F(ExternalData, StaysBelowTheModelsFolder) {
  expect_refused({{"location", "../secret.bin"}}, "lies outside of the model's folder");
  expect_refused({{"location", "weights/../../secret.bin"}}, "lies outside of the model's folder");
  expect_refused({{"location", "link.bin"}}, "lies outside of the model's folder");
  expect_refused({{"location", (root_ / "secret.bin").string()}},
                 "is not a path relative to the model's folder");
  expect_refused({{"location", ""}}, "is not a path relative to the model's folder");
  expect_refused({{"location", std::string("weights/w.bin\0x", 15)}},
                 "is not a path relative to the model's folder");
}

TEST_F(ExternalData, Errors) {
  expect_refused({}, "external data without a location");
  expect_refused({{"location", "none.bin"}}, "external data 'none.bin' of the model is missing");
  expect_refused({{"location", "weights"}}, "weights");
  expect_refused({{"location", "weights/w.bin"}, {"length", "4"}},
                 "external data has length 4, its shape and dtype want 8 bytes");
  expect_refused({{"location", "weights/w.bin"}, {"offset", "12"}},
                 "wants bytes 12 to 20 of 'weights/w.bin', which has 16");
  expect_refused({{"location", "weights/w.bin"}, {"offset", "18446744073709551615"}}, "which has 16");
  expect_refused({{"location", "weights/w.bin"}, {"offset", "-1"}}, "offset is '-1', want a number");
}

}  // namespace
}  // namespace intarsia
