#include "backends/onnxruntime/opaque_values.h"

#include "backends/onnxruntime/session.h"
#include "base/protobuf.h"

namespace intarsia {
namespace {

using ort::Kind;
using ort::Library;
using ort::OwnedValue;
using ort::share_value;
using protozero::pbf_reader;
using protozero::pbf_writer;

/// Field numbers of onnx.proto that the run half needs.
namespace field {
enum : uint32_t {
  type_tensor = 1,
  type_sequence = 4,
  type_map = 5,
  type_optional = 9,
  tensor_element = 1,
  container_element = 1,
  map_value = 2,
  model_ir_version = 1,
  model_graph = 7,
  model_opset = 8,
  opset_domain = 1,
  opset_version = 2,
  graph_node = 1,
  graph_name = 2,
  graph_output = 12,
  value_name = 1,
  value_type = 2,
  node_output = 2,
  node_op = 4,
  node_attribute = 5,
  attribute_name = 1,
  attribute_int = 3,
  attribute_type_proto = 14,
  attribute_kind = 20
};
}  // namespace field
constexpr int attribute_is_int = 2, attribute_is_type_proto = 13;

/// Contents of a TypeProto: optional(sequence(tensor f32)) is {true, true, false, f32}.
struct OpaqueType {
  bool is_optional = false;
  bool is_sequence = false;
  bool is_map = false;               // whether the sequence's elements, or the value itself, are maps
  DType element = DType::undefined;  // element type of the tensors; for a map of its values
};

/// Finds the sub-message `tag` of a message; empty if there is none.
std::string_view find_message(std::string_view bytes, uint32_t tag) {
  pbf_reader message(bytes.data(), bytes.size());
  if (!message.next(tag)) return {};
  const protozero::data_view view = message.get_view();
  return {view.data(), view.size()};
}

void read_type(std::string_view bytes, OpaqueType& type, int depth) {
  pbf_reader message(bytes.data(), bytes.size());
  if (depth == 0 || !message.next()) return;
  const uint32_t tag = message.tag();
  const protozero::data_view view = message.get_view();
  const std::string_view inner(view.data(), view.size());
  if (tag == field::type_tensor) {
    pbf_reader tensor(inner.data(), inner.size());
    if (!tensor.next(field::tensor_element)) return;
    const int32_t dtype = tensor.get_int32();
    if (dtype > 0 && dtype < dtype_count) type.element = static_cast<DType>(dtype);
    return;
  }
  type.is_optional |= tag == field::type_optional;
  type.is_sequence |= tag == field::type_sequence;
  type.is_map |= tag == field::type_map;
  read_type(find_message(inner, tag == field::type_map ? uint32_t{field::map_value}
                                                       : uint32_t{field::container_element}),
            type, depth - 1);
}

Status unpack_into(const Library& library, const std::shared_ptr<void>& owner, std::vector<Tensor>& tensors) {
  const ort::Api& api = library.api();
  auto* value = static_cast<ort::Value*>(owner.get());
  Kind kind{};
  TRY(library.check(api.value_kind(value, &kind)));
  if (kind == Kind::tensor) {
    tensors.push_back(TRY(ort::view_tensor(library, owner)));
    return {};
  }
  if (kind != Kind::sequence && kind != Kind::map)
    return fail("a value of ONNX kind {} has no tensors", int(kind));
  size_t count = 2;  // a map's keys and values
  if (kind == Kind::sequence) TRY(library.check(api.element_count(value, &count)));
  for (size_t i = 0; i < count; ++i) {
    ort::Value* element = nullptr;
    TRY(library.check(api.element(value, static_cast<int>(i), library.allocator(), &element)));
    TRY(unpack_into(library, share_value(OwnedValue(element, {&library}), owner), tensors));
  }
  return {};
}

Result<OwnedValue> copy_tensor(const Library& library, const TensorView& tensor) {
  if (tensor.dtype == DType::string) return ort::wrap_tensor(library, tensor);
  ort::Value* raw = nullptr;
  TRY(library.check(library.api().create_tensor(library.allocator(), tensor.shape.data(), tensor.shape.size(),
                                                static_cast<int>(tensor.dtype), &raw)));
  OwnedValue value(raw, {&library});
  TensorView copy = tensor;
  TRY(library.check(library.api().tensor_data(raw, &copy.data)));
  copy_elements(tensor, copy);
  return value;
}

/// Writes a model of one node without inputs. The library's C API can create neither an empty sequence nor an
/// absent optional; the operators SequenceEmpty and Optional can.
template <typename WriteAttribute>
std::string write_maker(const char* op, std::string_view output_type, WriteAttribute write_attribute) {
  std::string bytes;
  pbf_writer model(bytes);
  model.add_int64(field::model_ir_version, 8);
  {
    pbf_writer graph(model, field::model_graph);
    graph.add_string(field::graph_name, "maker");
    {
      pbf_writer node(graph, field::graph_node);
      node.add_string(field::node_output, "value");
      node.add_string(field::node_op, op);
      write_attribute(pbf_writer(node, field::node_attribute));
    }
    pbf_writer output(graph, field::graph_output);
    output.add_string(field::value_name, "value");
    output.add_message(field::value_type, output_type.data(), output_type.size());
  }
  pbf_writer opset(model, field::model_opset);
  opset.add_string(field::opset_domain, "");
  opset.add_int64(field::opset_version, 15);
  opset.commit();
  return bytes;
}

Result<std::shared_ptr<void>> run_maker(const std::string& model) {
  const auto session = TRY(ort::ModelSession::from_bytes(model, {.optimize = false}));
  ort::Value* value = nullptr;
  TRY(session->run({}, {&value, 1}));
  return share_value(OwnedValue(value, {&session->library()}));
}

Result<std::shared_ptr<void>> make_empty_sequence(std::string_view encoded, DType element) {
  return run_maker(write_maker("SequenceEmpty", encoded, [&](pbf_writer attribute) {
    attribute.add_string(field::attribute_name, "dtype");
    attribute.add_int64(field::attribute_int, static_cast<int64_t>(element));
    attribute.add_enum(field::attribute_kind, attribute_is_int);
  }));
}

/// Calls `read` on bytes that may not be protobuf at all.
template <typename Read>
auto guard_protobuf(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const protozero::exception& error) {
    return fail("a type is not an ONNX TypeProto: {}", error.what());
  }
}

Result<OpaqueType> read_opaque_type(std::string_view encoded) {
  return guard_protobuf([&]() -> Result<OpaqueType> {
    constexpr int deepest = 4;  // optional(sequence(map(tensor)))
    OpaqueType type;
    read_type(encoded, type, deepest);
    if (!type.is_optional && !type.is_sequence && !type.is_map)
      return fail("the type is not a sequence, optional or map");
    return type;
  });
}

/// Returns the TypeProto of what an optional may hold.
Result<std::string_view> content_type(std::string_view encoded) {
  return guard_protobuf([&]() -> Result<std::string_view> {
    return find_message(find_message(encoded, field::type_optional), field::container_element);
  });
}

Result<std::shared_ptr<void>> make_absent_optional(std::string_view encoded) {
  const std::string_view content = TRY(content_type(encoded));
  return run_maker(write_maker("Optional", encoded, [&](pbf_writer attribute) {
    attribute.add_string(field::attribute_name, "type");
    attribute.add_message(field::attribute_type_proto, content.data(), content.size());
    attribute.add_enum(field::attribute_kind, attribute_is_type_proto);
  }));
}

Result<std::shared_ptr<void>> pack_sequence(const Library& library, const std::vector<OwnedValue>& elements) {
  std::vector<const ort::Value*> pointers;
  for (const OwnedValue& element : elements) pointers.push_back(element.get());
  ort::Value* sequence = nullptr;
  TRY(library.check(library.api().create_value(pointers.data(), pointers.size(), Kind::sequence, &sequence)));
  return share_value(OwnedValue(sequence, {&library}));
}

}  // namespace

Result<OpaqueParts> unpack_opaque(const std::shared_ptr<void>& value, std::string_view encoded_type) {
  const Library& library = *TRY(Library::get());
  OpaqueParts parts;
  if (!encoded_type.empty()) {
    const OpaqueType type = TRY(read_opaque_type(encoded_type));
    parts = {type.is_optional, type.is_sequence, type.is_map};
  }
  int has = 0;
  auto* raw = static_cast<ort::Value*>(value.get());
  if (raw != nullptr) TRY(library.check(library.api().has_value(raw, &has)));
  parts.is_absent = has == 0;
  if (parts.is_absent) return parts;
  Kind kind{};
  TRY(library.check(library.api().value_kind(raw, &kind)));
  parts.is_sequence |= kind == Kind::sequence;
  parts.is_map |= kind == Kind::map;
  TRY(unpack_into(library, value, parts.tensors));
  return parts;
}

Result<std::shared_ptr<void>> pack_opaque(const OpaqueParts& parts, std::string_view encoded_type) {
  const OpaqueType type = TRY(read_opaque_type(encoded_type));
  if (type.is_map) return fail("a map cannot be given as an input");
  if (parts.is_absent && !type.is_optional) return fail("only an optional can be without a value");
  if (parts.is_absent) return make_absent_optional(encoded_type);
  if (!type.is_sequence && parts.tensors.size() != 1) {
    return fail("an optional tensor wants one tensor, got {}", parts.tensors.size());
  }
  if (parts.tensors.empty()) {
    return make_empty_sequence(type.is_optional ? TRY(content_type(encoded_type)) : encoded_type,
                               type.element);
  }
  const Library& library = *TRY(Library::get());
  std::vector<OwnedValue> elements;
  for (const Tensor& tensor : parts.tensors) {
    if (tensor.dtype() != type.element) {
      return fail("element {} has dtype {}, want {}", elements.size(), dtype_name(tensor.dtype()),
                  dtype_name(type.element));
    }
    elements.push_back(TRY(copy_tensor(library, tensor.view())));
  }
  return type.is_sequence ? pack_sequence(library, elements) : share_value(std::move(elements[0]));
}

}  // namespace intarsia
