// Field numbers of the public ONNX schema (onnx.proto) that the importer and the writers use.
#pragma once

#include <cstdint>

namespace intarsia::onnx {

/// Newest supported versions: those of the pinned onnx wheel.
inline constexpr int64_t newest_ir_version = 14;
inline constexpr int64_t newest_opset = 28;
inline constexpr int64_t oldest_opset = 1;  // below 7 all standard operators are foreign

namespace model {
enum : uint32_t { ir_version = 1, graph = 7, opset_import = 8, functions = 25, configuration = 26 };
}
namespace operator_set {
enum : uint32_t { domain = 1, version = 2 };
}
namespace graph {
enum : uint32_t {
  node = 1,
  name = 2,
  initializer = 5,
  input = 11,
  output = 12,
  value_info = 13,
  sparse_initializer = 15
};
}
namespace node {
enum : uint32_t {
  input = 1,
  output = 2,
  name = 3,
  op_type = 4,
  attribute = 5,
  domain = 7,
  overload = 8,
  metadata_props = 9,
  device_configurations = 10
};
}
namespace string_entry {
enum : uint32_t { key = 1, value = 2 };
}
namespace device_configuration {
enum : uint32_t { name = 1, device = 3 };
}
namespace node_device_configuration {
enum : uint32_t { configuration_id = 1, pipeline_stage = 3 };
}
namespace attribute {
enum : uint32_t {
  name = 1,
  f = 2,
  i = 3,
  s = 4,
  t = 5,
  g = 6,
  floats = 7,
  ints = 8,
  strings = 9,
  tensors = 10,
  graphs = 11,
  type = 20,
  ref_attr_name = 21,
  sparse_tensor = 22
};
/// Values of the field `type`.
enum class Type : int32_t {
  undefined = 0,
  f = 1,
  i = 2,
  s = 3,
  t = 4,
  g = 5,
  floats = 6,
  ints = 7,
  strings = 8,
  graphs = 10
};
}  // namespace attribute
namespace tensor {
enum : uint32_t {
  dims = 1,
  data_type = 2,
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  name = 8,
  raw_data = 9,
  double_data = 10,
  uint64_data = 11,
  external_data = 13,
  data_location = 14
};
}
namespace sparse_tensor {
enum : uint32_t { values = 1, indices = 2, dims = 3 };
}
namespace value_info {
enum : uint32_t { name = 1, type = 2 };
}
namespace type {
enum : uint32_t { tensor_type = 1, denotation = 6 };
}
namespace tensor_type {
enum : uint32_t { elem_type = 1, shape = 2 };
}
namespace shape {
enum : uint32_t { dim = 1 };
}
namespace dimension {
enum : uint32_t { value = 1, param = 2 };
}
namespace function {
enum : uint32_t {
  name = 1,
  input = 4,
  output = 5,
  node = 7,
  opset_import = 9,
  domain = 10,
  attribute_proto = 11,
  overload = 13
};
}
}  // namespace intarsia::onnx
