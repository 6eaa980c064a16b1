#include "backends/onnxruntime/infer_types.h"

#include "backends/onnxruntime/session.h"
#include "base/protobuf.h"
#include "onnx/onnx_fields.h"
#include "onnx/probe_node.h"
#include "onnx/write_onnx_model.h"

namespace intarsia {
namespace {

using ort::Api, ort::Kind, ort::Library, ort::MapInfo, ort::ModelSession, ort::OptionalInfo;
using ort::SequenceInfo, ort::TensorInfo, ort::TypeInfo;
using protozero::pbf_writer;

struct ReleaseType {
  const Library* library;
  void operator()(TypeInfo* type) const { library->api().release_type(type); }
};
using OwnedType = std::unique_ptr<TypeInfo, ReleaseType>;

/// Containers of the schema's TypeProto.
namespace container {
enum : uint32_t { sequence = 4, map = 5, optional = 9, element = 1, map_key = 1, map_value = 2 };
}

Result<ValueType> read_tensor_type(const Library& library, const TypeInfo* type) {
  const Api& api = library.api();
  const TensorInfo* info = nullptr;
  TRY(library.check(api.as_tensor_info(type, &info)));
  int dtype = 0;
  size_t rank = 0;
  TRY(library.check(api.element_type(info, &dtype)));
  TRY(library.check(api.rank(info, &rank)));
  Shape sizes(rank);
  std::vector<const char*> names(rank);
  TRY(library.check(api.sizes(info, sizes.data(), rank)));
  TRY(library.check(api.size_names(info, names.data(), rank)));
  ValueType result;
  if (dtype > 0 && dtype < dtype_count) result.dtype = static_cast<DType>(dtype);
  if (rank == 0) return result;  // a scalar or an unknown rank: both are reported as 0
  result.shape.emplace();
  for (size_t i = 0; i < rank; ++i) {
    const std::string name = names[i] ? names[i] : "";
    result.shape->push_back(sizes[i] >= 0 ? Dim(sizes[i]) : name.empty() ? Dim::unknown() : Dim::named(name));
  }
  return result;
}

Status encode_type(const Library& library, const TypeInfo* type, pbf_writer& out, int depth);

/// Writes the TypeProto of a container's contents, as field `tag` of it.
Status encode_inner(const Library& library, OwnedType inner, pbf_writer& out, uint32_t tag, int depth) {
  pbf_writer message(out, tag);
  return encode_type(library, inner.get(), message, depth - 1);
}

Status encode_tensor(const Library& library, const TypeInfo* type, pbf_writer& out) {
  const TensorInfo* info = nullptr;
  int dtype = 0;
  TRY(library.check(library.api().as_tensor_info(type, &info)));
  TRY(library.check(library.api().element_type(info, &dtype)));
  pbf_writer tensor(out, onnx::type::tensor_type);
  tensor.add_int32(onnx::tensor_type::elem_type, dtype);
  return {};
}

Status encode_type(const Library& library, const TypeInfo* type, pbf_writer& out, int depth) {
  if (depth == 0) return fail("a type is nested too deeply");
  const Api& api = library.api();
  Kind kind{};
  TRY(library.check(api.type_kind(type, &kind)));
  TypeInfo* inner = nullptr;
  if (kind == Kind::tensor) return encode_tensor(library, type, out);
  if (kind == Kind::sequence) {
    const SequenceInfo* info = nullptr;
    TRY(library.check(api.as_sequence_info(type, &info)));
    TRY(library.check(api.sequence_element(info, &inner)));
    pbf_writer message(out, container::sequence);
    return encode_inner(library, OwnedType(inner, {&library}), message, container::element, depth);
  }
  if (kind == Kind::optional) {
    const OptionalInfo* info = nullptr;
    TRY(library.check(api.as_optional_info(type, &info)));
    TRY(library.check(api.optional_content(info, &inner)));
    pbf_writer message(out, container::optional);
    return encode_inner(library, OwnedType(inner, {&library}), message, container::element, depth);
  }
  if (kind != Kind::map) return fail("a value is of ONNX kind {}", static_cast<int>(kind));
  const MapInfo* info = nullptr;
  int key = 0;
  TRY(library.check(api.as_map_info(type, &info)));
  TRY(library.check(api.map_key(info, &key)));
  TRY(library.check(api.map_value(info, &inner)));
  pbf_writer message(out, container::map);
  message.add_int32(container::map_key, key);
  return encode_inner(library, OwnedType(inner, {&library}), message, container::map_value, depth);
}

Result<ValueType> read_type(const Library& library, const TypeInfo* type) {
  Kind kind{};
  TRY(library.check(library.api().type_kind(type, &kind)));
  if (kind == Kind::tensor) return read_tensor_type(library, type);
  constexpr int deepest = 5;
  ValueType result{DType::undefined, std::nullopt, true, {}};
  pbf_writer encoded(result.encoded);
  TRY(encode_type(library, type, encoded, deepest));
  return result;
}

/// Makes a session of only the node, with its constants, which may determine shapes.
Result<std::shared_ptr<const ModelSession>> make_session(const Graph& graph, NodeId node) {
  const OnnxModel model =
      TRY(write_onnx_model(make_probe(graph, node, {.keep_constants = true, .keep_sizes = true})));
  std::vector<ConstTensorView> constants;
  for (const Tensor& constant : model.constants) constants.push_back(constant.view());
  return ModelSession::from_bytes(
      model.bytes, {.optimize = false, .constant_names = model.constant_names, .constants = constants});
}

}  // namespace

Status infer_types_with_onnxruntime(Graph& graph, NodeId id) {
  const auto session = make_session(graph, id);
  if (!session) return {};
  const Library& library = (*session)->library();
  // The probe's outputs are those of all its nodes, in order; this node's come last.
  const std::vector<ValueId>& outputs = graph.node(id).outputs;
  size_t port = (*session)->outputs().size();
  for (size_t i = outputs.size(); i-- > 0;) {
    if (outputs[i] == no_value) continue;
    const OwnedType type(TRY((*session)->output_type(--port)), {&library});
    graph.value(outputs[i]).type = TRY(read_type(library, type.get()));
  }
  return {};
}

}  // namespace intarsia
