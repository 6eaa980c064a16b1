#include "onnx/write_onnx_model.h"

#include <algorithm>

#include "base/protobuf.h"
#include "onnx/onnx_fields.h"

namespace intarsia {
namespace {

using onnx::attribute::Type;
using protozero::pbf_writer;

void write_dims(pbf_writer& message, uint32_t field, const Shape& dims) {
  for (int64_t size : dims) message.add_int64(field, size);
}

void write_tensor(pbf_writer message, const std::string& name, const TensorView& tensor) {
  write_dims(message, onnx::tensor::dims, tensor.shape);
  message.add_int32(onnx::tensor::data_type, static_cast<int32_t>(tensor.dtype));
  if (!name.empty()) message.add_string(onnx::tensor::name, name);
  if (tensor.dtype == DType::string) {
    for (const std::string& text : tensor.as<std::string>())
      message.add_bytes(onnx::tensor::string_data, text);
  } else {
    message.add_bytes(onnx::tensor::raw_data, static_cast<const char*>(tensor.data), tensor.bytes());
  }
}

/// Writes a tensor whose data is provided separately, by name.
void write_external_tensor(pbf_writer message, const std::string& name, const TensorView& tensor) {
  constexpr int32_t external = 1;
  write_dims(message, onnx::tensor::dims, tensor.shape);
  message.add_int32(onnx::tensor::data_type, static_cast<int32_t>(tensor.dtype));
  message.add_string(onnx::tensor::name, name);
  pbf_writer entry(message, onnx::tensor::external_data);
  entry.add_string(onnx::string_entry::key, "location");
  entry.add_string(onnx::string_entry::value, "provided by the program");
  entry.commit();
  message.add_enum(onnx::tensor::data_location, external);
}

/// Writes the value of one attribute by the type it holds.
struct AttributeWriter {
  pbf_writer& message;

  void type(Type type) { message.add_enum(onnx::attribute::type, static_cast<int32_t>(type)); }
  void operator()(int64_t v) {
    message.add_int64(onnx::attribute::i, v);
    type(Type::i);
  }
  void operator()(float v) {
    message.add_float(onnx::attribute::f, v);
    type(Type::f);
  }
  void operator()(const std::string& v) {
    message.add_bytes(onnx::attribute::s, v);
    type(Type::s);
  }
  void operator()(const std::vector<int64_t>& v) {
    for (int64_t item : v) message.add_int64(onnx::attribute::ints, item);
    type(Type::ints);
  }
  void operator()(const std::vector<float>& v) {
    for (float item : v) message.add_float(onnx::attribute::floats, item);
    type(Type::floats);
  }
  void operator()(const std::vector<std::string>& v) {
    for (const std::string& item : v) message.add_bytes(onnx::attribute::strings, item);
    type(Type::strings);
  }
  void operator()(const Tensor& v) {
    write_tensor(pbf_writer(message, onnx::attribute::t), {}, v.view());
    type(Type::t);
  }
  void operator()(const EncodedAttribute&) {}  // already a whole AttributeProto, see write_node
};

void write_node(pbf_writer message, const Graph& graph, const Node& node) {
  auto write_names = [&](uint32_t field, const std::vector<ValueId>& ids) {
    for (ValueId id : ids) message.add_string(field, id == no_value ? std::string() : graph.value(id).name);
  };
  write_names(onnx::node::input, node.inputs);
  write_names(onnx::node::output, node.outputs);
  message.add_string(onnx::node::name, node.name);
  message.add_string(onnx::node::op_type, node.op);
  if (!node.domain.empty()) message.add_string(onnx::node::domain, node.domain);
  for (const Attributes::Entry& entry : node.attributes) {
    if (const auto* encoded = std::get_if<EncodedAttribute>(&entry.value)) {
      message.add_message(onnx::node::attribute, encoded->bytes);
      continue;
    }
    pbf_writer attribute(message, onnx::node::attribute);
    attribute.add_string(onnx::attribute::name, entry.name);
    std::visit(AttributeWriter{attribute}, entry.value);
  }
}

void write_shape(pbf_writer message, const SymbolicShape& shape) {
  for (const Dim& dim : shape) {
    if (!dim.is_known()) {
      message.add_message(onnx::shape::dim, std::string());  // a writer would leave an empty one out
      continue;
    }
    pbf_writer entry(message, onnx::shape::dim);
    if (dim.is_number())
      entry.add_int64(onnx::dimension::value, dim.number());
    else
      entry.add_string(onnx::dimension::param, dim.print());
  }
}

/// Writes the name and, if known, the type.
void write_value_info(pbf_writer message, const Value& value) {
  message.add_string(onnx::value_info::name, value.name);
  if (value.type.opaque && !value.type.encoded.empty()) {
    message.add_message(onnx::value_info::type, value.type.encoded);
  } else if (value.type.dtype != DType::undefined) {
    pbf_writer type(message, onnx::value_info::type);
    pbf_writer tensor(type, onnx::type::tensor_type);
    tensor.add_int32(onnx::tensor_type::elem_type, static_cast<int32_t>(value.type.dtype));
    if (!value.type.shape) return;
    if (value.type.shape->empty()) {
      tensor.add_message(onnx::tensor_type::shape, std::string());  // a writer would leave an empty one out
    } else {
      write_shape(pbf_writer(tensor, onnx::tensor_type::shape), *value.type.shape);
    }
  }
}

/// Finds the versions of all domains: those that the nodes were written for, and the graph's for domains that
/// only subgraphs use.
Result<std::map<std::string, int>> find_opsets(const Graph& graph) {
  std::map<std::string, const Node*> first;
  std::map<std::string, int> opsets;
  for (const Node& node : graph.nodes) {
    const std::string domain = node.domain == "ai.onnx" ? "" : node.domain;
    auto [at, is_new] = first.emplace(domain, &node);
    if (!is_new && at->second->version != node.version) {
      return fail(
          "nodes '{}' and '{}' want versions {} and {} of the operator set '{}'; one model has one version",
          at->second->name, node.name, at->second->version, node.version, domain);
    }
    opsets[domain] = node.version;
  }
  for (const auto& [domain, version] : graph.opsets)
    opsets.emplace(domain == "ai.onnx" ? "" : domain, version);
  return opsets;
}

/// Returns the oldest IR version that knows all element types (ONNX IR.md); older frameworks reject newer
/// ones.
int ir_version(const Graph& graph) {
  int version = 8;
  for (const Value& value : graph.values) {
    const DType dtype = value.constant ? value.constant->dtype() : value.type.dtype;
    switch (dtype) {
      case DType::f8e4m3fn:
      case DType::f8e4m3fnuz:
      case DType::f8e5m2:
      case DType::f8e5m2fnuz:
        version = std::max(version, 9);
        break;
      case DType::u4:
      case DType::i4:
        version = std::max(version, 10);
        break;
      case DType::f4e2m1:
        version = std::max(version, 11);
        break;
      case DType::f8e8m0:
        version = std::max(version, 12);
        break;
      case DType::u2:
      case DType::i2:
        version = std::max(version, 13);
        break;
      default:
        break;
    }
  }
  return version;
}

Status write_graph(pbf_writer message, const Graph& graph, LargeConstants large, OnnxModel& model) {
  message.add_string(onnx::graph::name, graph.name.empty() ? "region" : graph.name);
  for (const Node& node : graph.nodes) write_node(pbf_writer(message, onnx::graph::node), graph, node);
  for (const Value& value : graph.values) {
    if (!value.constant) continue;
    const TensorView& tensor = value.constant->view();
    const bool is_small = tensor.dtype == DType::string || tensor.bytes() < inline_constant_bytes;
    if (is_small || large == LargeConstants::within) {
      write_tensor(pbf_writer(message, onnx::graph::initializer), value.name, tensor);
      continue;
    }
    if (large == LargeConstants::declared)
      write_external_tensor(pbf_writer(message, onnx::graph::initializer), value.name, tensor);
    model.constant_names.push_back(value.name);
    model.constants.push_back(*value.constant);
  }
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    if (value.type.opaque ? value.type.encoded.empty() : value.type.dtype == DType::undefined) {
      return fail("the type of value '{}' is not known, so no model can have it as an input", value.name);
    }
    write_value_info(pbf_writer(message, onnx::graph::input), value);
  }
  for (ValueId id : graph.outputs)
    write_value_info(pbf_writer(message, onnx::graph::output), graph.value(id));
  return {};
}

/// Checks the size of a model with all its constants.
Status check_size(const Graph& graph) {
  size_t bytes = 0;
  for (const Value& value : graph.values) bytes += value.constant ? value.constant->bytes() : 0;
  if (bytes <= largest_message) return {};
  return fail("its weights take {} bytes, and an ONNX model in one file holds 2 GiB", bytes);
}

}  // namespace

Result<OnnxModel> write_onnx_model(const Graph& graph, LargeConstants large) {
  OnnxModel model;
  if (large == LargeConstants::within) TRY(check_size(graph));
  const std::map<std::string, int> opsets = TRY(find_opsets(graph));
  pbf_writer message(model.bytes);
  message.add_int64(onnx::model::ir_version, ir_version(graph));
  TRY(write_graph(pbf_writer(message, onnx::model::graph), graph, large, model));
  for (const auto& [domain, version] : opsets) {
    pbf_writer opset(message, onnx::model::opset_import);
    opset.add_string(onnx::operator_set::domain, domain);
    opset.add_int64(onnx::operator_set::version, version);
  }
  return model;
}

}  // namespace intarsia
