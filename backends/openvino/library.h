// OpenVINO's C API, found on the machine and opened once per process. None of it is linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/code/foreign_library.h"
#include "base/result.h"

namespace intarsia::openvino {

// The library's types. Facts: the public headers openvino/c/*.h of 2026.4.
struct Core;
struct Model;
struct CompiledModel;
struct InferRequest;
struct Port;
struct TensorHandle;
struct OvShape {
  int64_t rank;
  int64_t* sizes;
};
struct Range {
  int64_t least, most;
};
struct PartialShape {
  Range rank;
  Range* sizes;
};
struct Version {
  const char* build;  // "2026.4.1-22104-..."
  const char* description;
};
struct ProfilingInfo {
  int status;  // 0: not run, 1: optimized out, 2: executed
  int64_t real_microseconds, cpu_microseconds;
  const char *node_name, *execution_type, *node_type;
};
struct ProfilingList {
  ProfilingInfo* items;
  size_t size;
};
struct DeviceList {
  char** names;  // "CPU", "GPU.0"
  size_t size;
};
using OvStatus = int;  // 0: success

/// Functions that we call, by their names. Objects that they return are freed by the functions `..._free`.
struct Api {
  OvStatus (*ov_get_openvino_version)(Version*);
  void (*ov_version_free)(Version*);
  const char* (*ov_get_error_info)(OvStatus);
  const char* (*ov_get_last_err_msg)();  // message of this thread
  void (*ov_free)(const char*);

  OvStatus (*ov_core_create)(Core**);
  OvStatus (*ov_core_read_model)(const Core*, const char* path, const char* weights_path, Model**);
  /// Reads a model. `weights` are only for one in OpenVINO's own format.
  OvStatus (*ov_core_read_model_from_memory_buffer)(const Core*, const char* bytes, size_t size,
                                                    const TensorHandle* weights, Model**);
  /// Compiles a model. `property_count` counts keys and values, which follow the last parameter.
  OvStatus (*ov_core_compile_model)(const Core*, const Model*, const char* device, size_t property_count,
                                    CompiledModel**, ...);
  OvStatus (*ov_core_get_available_devices)(const Core*, DeviceList*);
  void (*ov_available_devices_free)(DeviceList*);
  void (*ov_core_free)(Core*);

  OvStatus (*ov_model_reshape)(const Model*, const char** names, const PartialShape*, size_t count);
  OvStatus (*ov_model_inputs_size)(const Model*, size_t*);
  OvStatus (*ov_model_outputs_size)(const Model*, size_t*);
  OvStatus (*ov_model_const_output_by_index)(const Model*, size_t, Port**);
  void (*ov_model_free)(Model*);

  OvStatus (*ov_port_get_any_name)(const Port*, char** name);  // freed by ov_free
  OvStatus (*ov_port_get_element_type)(const Port*, uint32_t*);
  OvStatus (*ov_port_get_partial_shape)(const Port*, PartialShape*);
  void (*ov_partial_shape_free)(PartialShape*);
  void (*ov_output_const_port_free)(Port*);

  OvStatus (*ov_compiled_model_inputs_size)(const CompiledModel*, size_t*);
  OvStatus (*ov_compiled_model_outputs_size)(const CompiledModel*, size_t*);
  OvStatus (*ov_compiled_model_input_by_index)(const CompiledModel*, size_t, Port**);
  OvStatus (*ov_compiled_model_output_by_index)(const CompiledModel*, size_t, Port**);
  OvStatus (*ov_compiled_model_create_infer_request)(const CompiledModel*, InferRequest**);
  /// The value is freed by ov_free.
  OvStatus (*ov_compiled_model_get_property)(const CompiledModel*, const char* key, char** value);
  void (*ov_compiled_model_free)(CompiledModel*);

  OvStatus (*ov_infer_request_set_tensor)(InferRequest*, const char* name, const TensorHandle*);
  OvStatus (*ov_infer_request_set_input_tensor_by_index)(InferRequest*, size_t, const TensorHandle*);
  OvStatus (*ov_infer_request_set_output_tensor_by_index)(InferRequest*, size_t, const TensorHandle*);
  OvStatus (*ov_infer_request_get_output_tensor_by_index)(const InferRequest*, size_t, TensorHandle**);
  OvStatus (*ov_infer_request_infer)(InferRequest*);
  OvStatus (*ov_infer_request_start_async)(InferRequest*);
  OvStatus (*ov_infer_request_wait)(InferRequest*);
  OvStatus (*ov_infer_request_get_profiling_info)(const InferRequest*, ProfilingList*);
  void (*ov_profiling_info_list_free)(ProfilingList*);
  void (*ov_infer_request_free)(InferRequest*);

  OvStatus (*ov_tensor_create_from_host_ptr)(uint32_t type, OvShape, void* data, TensorHandle**);
  OvStatus (*ov_tensor_get_shape)(const TensorHandle*, OvShape*);
  OvStatus (*ov_shape_free)(OvShape*);
  OvStatus (*ov_tensor_get_element_type)(const TensorHandle*, uint32_t*);
  OvStatus (*ov_tensor_data)(const TensorHandle*, void**);
  void (*ov_tensor_free)(TensorHandle*);
};

/// Object of the library, freed by the function of its kind.
template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// Returns the search: INTARSIA_OPENVINO, "libopenvino_c.so", the Python environments around our own library.
LibrarySearch default_search();

/// Owner of the decision on which cores the library's threads run.
enum class Binding {
  ours,  // the system or Intarsia, see check_stays_on_cores()
  tbbs   // the TBB that the library uses, as where OpenVINO is used alone
};

/// Opened library, which lives until the process ends.
class Library {
 public:
  /// Returns the process's library, opened on first use, when the binding is chosen. After a failure the next
  /// call tries again. Thread-safe.
  static Result<const Library*> get(Binding binding = Binding::ours);
  static Result<Library> open(const LibrarySearch& search, Binding binding);

  const Api& api() const { return api_; }
  const std::string& version() const { return version_; }  // "2026.4.1"

  /// Checks that the library's threads stay on their cores. Error: the process has loaded a part of TBB that
  /// moves threads while they compute in OpenVINO.
  static Status check_stays_on_cores();

  /// Turns a status of the library into ours.
  Status check(OvStatus status) const;

 private:
  Api api_{};
  std::string version_;
};

}  // namespace intarsia::openvino
