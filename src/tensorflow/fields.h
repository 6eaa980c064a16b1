// Field numbers of TensorFlow's public schemas (graph.proto, node_def.proto, attr_value.proto,
// function.proto, op_def.proto, tensor.proto, saved_model.proto, meta_graph.proto, saver.proto,
// saved_object_graph.proto, trackable_object_graph.proto, variable.proto) that are read and written here.
#pragma once

#include <cstdint>

namespace intarsia::tensorflow {

namespace graph_def {
enum : uint32_t { node = 1, library = 2, versions = 4 };
}
namespace versions {
enum : uint32_t { producer = 1, min_consumer = 2 };
}
namespace node_def {
enum : uint32_t { name = 1, op = 2, input = 3, device = 4, attr = 5 };
}
namespace attr_value {
enum : uint32_t {
  list = 1,
  s = 2,
  i = 3,
  f = 4,
  b = 5,
  type = 6,
  shape = 7,
  tensor = 8,
  placeholder = 9,
  func = 10
};
}
namespace list_value {
enum : uint32_t { s = 2, i = 3, f = 4, b = 5, type = 6, shape = 7, tensor = 8, func = 9 };
}
namespace name_attr_list {
enum : uint32_t { name = 1, attr = 2 };
}
namespace function_library {
enum : uint32_t { function = 1, gradient = 2, registered_gradients = 3 };
}
namespace gradient_def {  // GradientDef and RegisteredGradient
enum : uint32_t { name = 1, registered_function = 1, function = 2 };
}
namespace function_def {
enum : uint32_t {
  signature = 1,
  node = 3,
  ret = 4,
  attr = 5,
  control_ret = 6,
  arg_attr = 7,
  resource_arg_unique_id = 8
};
}
namespace op_def {
enum : uint32_t { name = 1, input_arg = 2, output_arg = 3, is_stateful = 17, control_output = 20 };
}
namespace op_list {
enum : uint32_t { op = 1 };
}
namespace arg_def {
enum : uint32_t { name = 1, type = 3, type_attr = 4, number_attr = 5, type_list_attr = 6 };
}
namespace tensor_proto {
enum : uint32_t {
  dtype = 1,
  tensor_shape = 2,
  tensor_content = 4,
  float_val = 5,
  double_val = 6,
  int_val = 7,
  string_val = 8,
  scomplex_val = 9,
  int64_val = 10,
  bool_val = 11,
  dcomplex_val = 12,
  half_val = 13,
  uint32_val = 16,
  uint64_val = 17
};
}
namespace tensor_shape {
enum : uint32_t { dim = 2, unknown_rank = 3 };
}
namespace shape_dim {
enum : uint32_t { size = 1 };
}
namespace saved_model {
enum : uint32_t { meta_graph = 2 };
}
namespace meta_graph {
enum : uint32_t {
  meta_info = 1,
  graph_def = 2,
  saver_def = 3,
  collection_def = 4,
  signature_def = 5,
  asset_file_def = 6,
  object_graph_def = 7
};
}
namespace meta_info {
enum : uint32_t { tags = 4 };
}
namespace collection_def {
enum : uint32_t { node_list = 1, bytes_list = 2, any_list = 5 };
}
namespace list_of_collection {
enum : uint32_t { value = 1 };
}
namespace any_message {
enum : uint32_t { value = 2 };
}
namespace variable_def {
enum : uint32_t { variable = 1, initializer = 2, snapshot = 3, initial_value = 6 };
}
namespace saver_def {
enum : uint32_t { save_tensor_name = 2, restore_op_name = 3 };
}
namespace object_graph {  // SavedObjectGraph and TrackableObjectGraph
enum : uint32_t { nodes = 1, concrete_functions = 2 };
}
namespace object_node {                                                // SavedObject and TrackableObject
enum : uint32_t { children = 1, variable = 7, captured_tensor = 12 };  // the latter two of a SavedObject
}
namespace captured_tensor {
enum : uint32_t { name = 1, concrete_function = 2 };
}
namespace trackable_object {
enum : uint32_t { attributes = 2 };
}
namespace object_reference {
enum : uint32_t { node_id = 1, local_name = 2 };
}
namespace serialized_tensor {
enum : uint32_t { name = 1, full_name = 2, checkpoint_key = 3 };
}
namespace concrete_function {
enum : uint32_t { bound_inputs = 2 };
}
namespace signature_def {
enum : uint32_t { inputs = 1, outputs = 2 };
}
namespace tensor_info {
enum : uint32_t { name = 1, dtype = 2, tensor_shape = 3, coo_sparse = 4, composite = 5 };
}
namespace map_entry {
enum : uint32_t { key = 1, value = 2 };
}

/// Numbers of DataType without a DType of ours.
inline constexpr int32_t resource_type = 20, variant_type = 21;

}  // namespace intarsia::tensorflow
