#include "backends/openvino/complete_model.h"

#include "base/protobuf.h"
#include "onnx/onnx_fields.h"

namespace intarsia::openvino {
namespace {

using protozero::pbf_writer;

/// Writes all of a TensorProto but its data.
void write_head(pbf_writer& message, const std::string& name, const ConstTensorView& tensor) {
  for (int64_t size : tensor.shape) message.add_int64(onnx::tensor::dims, size);
  message.add_int32(onnx::tensor::data_type, static_cast<int32_t>(tensor.dtype));
  message.add_string(onnx::tensor::name, name);
}

/// Returns the bytes of a field with a length; our field numbers take one byte.
size_t field_size(size_t bytes) {
  return 1 + static_cast<size_t>(protozero::length_of_varint(bytes)) + bytes;
}

/// Adds an initializer to the graph: two messages in a row are one, in which the fields of the second join
/// those of the first. Sizes are computed first, since a writer would move the data to put the size in front
/// of it.
void add_initializer(std::string& model, const std::string& name, const ConstTensorView& tensor) {
  std::string head;
  pbf_writer head_only(head);
  write_head(head_only, name, tensor);
  const size_t size = head.size() + field_size(tensor.bytes());
  pbf_writer message(model);
  pbf_writer graph(message, onnx::model::graph, field_size(size));
  pbf_writer initializer(graph, onnx::graph::initializer, size);
  write_head(initializer, name, tensor);
  initializer.add_bytes(onnx::tensor::raw_data, static_cast<const char*>(tensor.data), tensor.bytes());
}

}  // namespace

Result<std::string> complete_model(const RegionModel& model) {
  const std::vector<std::string>& names = model.constant_names;
  const std::span<const ConstTensorView> constants = model.constants;
  if (names.size() != constants.size())
    return fail("the region wants {} constants, got {}", names.size(), constants.size());
  constexpr size_t head_bytes = 128;  // rough size of an initializer without its data
  size_t bytes = model.bytes.size();
  for (size_t i = 0; i < names.size(); ++i) bytes += constants[i].bytes() + names[i].size() + head_bytes;
  if (bytes > largest_message) {
    return fail(
        "the region's weights take {} bytes, OpenVINO takes models up to 2 GiB from memory; compile with "
        "other --backends",
        bytes);
  }
  std::string whole;
  whole.reserve(bytes);
  whole.append(model.bytes);
  for (size_t i = 0; i < names.size(); ++i) add_initializer(whole, names[i], constants[i]);
  return whole;
}

}  // namespace intarsia::openvino
