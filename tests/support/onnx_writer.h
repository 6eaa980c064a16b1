// Writes small ONNX models for tests, message by message.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/protobuf.h"
#include "onnx/onnx_fields.h"

namespace intarsia::onnx {

using Messages = std::vector<std::string>;
using Names = std::vector<std::string>;

/// Builder of a message: Message().text(tag, "x").number(tag, 1).bytes
struct Message {
  std::string bytes;
  Message& text(uint32_t tag, const std::string& value) {
    return with([&](auto& out) { out.add_string(tag, value); });
  }
  Message& number(uint32_t tag, int64_t value) {
    return with([&](auto& out) { out.add_int64(tag, value); });
  }
  Message& real(uint32_t tag, float value) {
    return with([&](auto& out) { out.add_float(tag, value); });
  }
  Message& message(uint32_t tag, const std::string& value) {
    return with([&](auto& out) { out.add_message(tag, value); });
  }
  Message& messages(uint32_t tag, const Messages& values) {
    for (const std::string& value : values) message(tag, value);
    return *this;
  }
  template <typename Write>
  Message& with(Write write) {
    protozero::pbf_writer out(bytes);
    write(out);
    return *this;
  }
};

inline std::string tensor_message(const std::string& name, DType dtype, const std::vector<int64_t>& dims,
                                  const std::string& raw) {
  Message message;
  for (int64_t dim : dims) message.number(tensor::dims, dim);
  return message.number(tensor::data_type, static_cast<int64_t>(dtype))
      .text(tensor::name, name)
      .text(tensor::raw_data, raw)
      .bytes;
}

template <typename T>
std::string raw_bytes(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

inline std::string floats_message(const std::string& name, std::initializer_list<float> values) {
  return tensor_message(name, DType::f32, {static_cast<int64_t>(values.size())}, raw_bytes(values));
}
inline std::string ints_message(const std::string& name, std::initializer_list<int64_t> values) {
  return tensor_message(name, DType::i64, {static_cast<int64_t>(values.size())}, raw_bytes(values));
}

/// Size that is a number or, with a name, a symbol.
struct Size {
  int64_t value = -1;
  std::string symbol;
  Size(int64_t value) : value(value) {}
  Size(const char* symbol) : symbol(symbol) {}
};

inline std::string value_message(const std::string& name, DType dtype, const std::vector<Size>& sizes) {
  Message shape_message, tensor_type_message;
  for (const Size& size : sizes) {
    Message dim;
    if (!size.symbol.empty())
      dim.text(dimension::param, size.symbol);
    else
      dim.number(dimension::value, size.value);
    shape_message.message(shape::dim, dim.bytes);
  }
  tensor_type_message.number(tensor_type::elem_type, static_cast<int64_t>(dtype))
      .message(tensor_type::shape, shape_message.bytes);
  const std::string type_message = Message().message(type::tensor_type, tensor_type_message.bytes).bytes;
  return Message().text(value_info::name, name).message(value_info::type, type_message).bytes;
}
/// Makes an output whose type the model does not specify.
inline std::string value_message(const std::string& name) {
  return Message().text(value_info::name, name).bytes;
}

inline Message attribute_message(const std::string& name, attribute::Type kind) {
  return Message().text(attribute::name, name).number(attribute::type, static_cast<int64_t>(kind));
}
inline std::string attribute_ref(const std::string& name, const std::string& refers_to,
                                 attribute::Type kind) {
  return attribute_message(name, kind).text(attribute::ref_attr_name, refers_to).bytes;
}
inline std::string attribute_int(const std::string& name, int64_t value) {
  return attribute_message(name, attribute::Type::i).number(attribute::i, value).bytes;
}
inline std::string attribute_tensor(const std::string& name, const std::string& tensor) {
  return attribute_message(name, attribute::Type::t).message(attribute::t, tensor).bytes;
}
inline std::string attribute_graph(const std::string& name, const std::string& graph) {
  return attribute_message(name, attribute::Type::g).message(attribute::g, graph).bytes;
}

inline std::string node_message(const std::string& op, const Names& inputs, const Names& outputs,
                                const Messages& attributes = {}, const std::string& domain = "",
                                const std::string& name = "") {
  Message message;
  for (const std::string& input : inputs) message.text(node::input, input);
  for (const std::string& output : outputs) message.text(node::output, output);
  message.text(node::op_type, op).text(node::domain, domain).text(node::name, name);
  return message.messages(node::attribute, attributes).bytes;
}

struct GraphParts {
  Messages nodes, initializers, inputs, outputs, sparse_initializers, value_infos;
};

inline std::string graph_message(const GraphParts& parts) {
  return Message()
      .messages(graph::node, parts.nodes)
      .text(graph::name, "g")
      .messages(graph::initializer, parts.initializers)
      .messages(graph::sparse_initializer, parts.sparse_initializers)
      .messages(graph::input, parts.inputs)
      .messages(graph::output, parts.outputs)
      .messages(graph::value_info, parts.value_infos)
      .bytes;
}

/// Makes the body of an If's branch: no inputs, one output.
inline std::string branch(const Messages& nodes, const std::string& output) {
  return graph_message({.nodes = nodes, .outputs = {value_message(output)}});
}

inline std::string sparse_message(const std::string& values, const std::string& indices,
                                  const std::vector<int64_t>& dims) {
  Message message;
  message.message(sparse_tensor::values, values).message(sparse_tensor::indices, indices);
  for (int64_t dim : dims) message.number(sparse_tensor::dims, dim);
  return message.bytes;
}

inline std::string opset_message(const std::string& domain, int64_t version) {
  return Message().text(operator_set::domain, domain).number(operator_set::version, version).bytes;
}

/// Makes a function of domain "local".
inline std::string function_message(const std::string& name, const Names& inputs, const Names& outputs,
                                    const Messages& nodes, const Messages& default_attributes = {}) {
  Message message;
  message.text(function::name, name).text(function::domain, "local");
  for (const std::string& input : inputs) message.text(function::input, input);
  for (const std::string& output : outputs) message.text(function::output, output);
  return message.messages(function::node, nodes)
      .messages(function::attribute_proto, default_attributes)
      .message(function::opset_import, opset_message("", 17))
      .message(function::opset_import, opset_message("local", 1))
      .bytes;
}

inline std::string model_message(const GraphParts& parts, const Messages& functions = {}, int64_t opset = 17,
                                 int64_t ir_version = 8) {
  // Fields are in the order of their numbers, as protobuf writes them: OpenVINO accepts no other order.
  return Message()
      .number(model::ir_version, ir_version)
      .message(model::graph, graph_message(parts))
      .message(model::opset_import, opset_message("", opset))
      .message(model::opset_import, opset_message("local", 1))
      .messages(model::functions, functions)
      .bytes;
}

}  // namespace intarsia::onnx
