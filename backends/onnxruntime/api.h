// ONNX Runtime's C API as a table of function pointers, in which we name the slots that we use. The table
// only grows at its end, so the numbers hold for every version from 1.16 (API version 16) on. Facts: the
// order of `struct OrtApi` in the public onnxruntime_c_api.h, checked by
// tests/backends/onnxruntime/library.cc against the library's own behavior.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace intarsia::ort {

// The library's opaque types.
struct OrtStatus;
struct Env;
struct SessionOptions;
struct ThreadingOptions;
struct Session;
struct RunOptions;
struct Value;
struct MemoryInfo;
struct Allocator;
struct TypeInfo;
struct TensorInfo;
struct SequenceInfo;
struct MapInfo;
struct OptionalInfo;

constexpr int log_level_error = 3;

/// Kinds of values (ONNXType).
enum class Kind : int {
  unknown = 0,
  tensor = 1,
  sequence = 2,
  map = 3,
  opaque = 4,
  sparse_tensor = 5,
  optional = 6
};

/// Slot `number` of the table, called like a function. A returned OrtStatus is null for success, else the
/// caller's.
template <int number, typename Signature>
class Slot;
template <int number, typename R, typename... Args>
class Slot<number, R(Args...)> {
 public:
  explicit Slot(void* const* table) : function_(as_function<R (*)(Args...)>(table[number])) {}
  R operator()(Args... args) const { return function_(args...); }

 private:
  R (*function_)(Args...);
};

/// API of the library. Element types are the numbers of DType. Sizes of shapes and counts are in elements,
/// sizes of data in bytes.
struct Api {
  explicit Api(void* const* slots) : table(slots) {}
  void* const* table;

  Slot<1, int(const OrtStatus*)> status_code{table};
  Slot<2, const char*(const OrtStatus*)> status_message{table};
  Slot<93, void(OrtStatus*)> release_status{table};

  Slot<3, OrtStatus*(int log_level, const char* name, Env** out)> create_env{table};

  Slot<92, void(Env*)> release_env{table};
  Slot<119, OrtStatus*(int log_level, const char* name, const ThreadingOptions*, Env** out)>
      create_env_with_pool{table};
  Slot<121, OrtStatus*(ThreadingOptions** out)> create_threading_options{table};
  Slot<122, void(ThreadingOptions*)> release_threading_options{table};
  Slot<147, OrtStatus*(ThreadingOptions*, int threads)> set_pool_intra_op_threads{table};
  Slot<148, OrtStatus*(ThreadingOptions*, int threads)> set_pool_inter_op_threads{table};
  Slot<149, OrtStatus*(ThreadingOptions*, int spin)> set_pool_spinning{table};

  Slot<10, OrtStatus*(SessionOptions** out)> create_session_options{table};
  Slot<120, OrtStatus*(SessionOptions*)> use_pool_of_env{table};
  Slot<23, OrtStatus*(SessionOptions*, int level)> set_optimization_level{table};
  Slot<24, OrtStatus*(SessionOptions*, int threads)> set_intra_op_threads{table};
  Slot<25, OrtStatus*(SessionOptions*, int threads)> set_inter_op_threads{table};
  Slot<22, OrtStatus*(SessionOptions*, int log_level)> set_log_level{table};
  Slot<130, OrtStatus*(SessionOptions*, const char* key, const char* value)> add_config_entry{table};
  Slot<210, OrtStatus*(SessionOptions*, const char* const* names, const Value* const* values, size_t count)>
      add_external_initializers{table};
  Slot<150, OrtStatus*(SessionOptions*, const char* name, const Value*)> add_initializer{table};
  Slot<14, OrtStatus*(SessionOptions*, const char* file_prefix)> enable_profiling{table};
  Slot<100, void(SessionOptions*)> release_session_options{table};

  Slot<7, OrtStatus*(const Env*, const char* path, const SessionOptions*, Session** out)> create_session{
      table};
  Slot<8, OrtStatus*(const Env*, const void* model, size_t bytes, const SessionOptions*, Session** out)>
      create_session_from_array{table};
  Slot<9,
       OrtStatus*(Session*, const RunOptions*, const char* const* input_names, const Value* const* inputs,
                  size_t input_count, const char* const* output_names, size_t output_count, Value** outputs)>
      run{table};
  Slot<110, OrtStatus*(Session*, Allocator*, char** file)> end_profiling{table};
  Slot<30, OrtStatus*(const Session*, size_t* out)> input_count{table};
  Slot<31, OrtStatus*(const Session*, size_t* out)> output_count{table};
  Slot<33, OrtStatus*(const Session*, size_t i, TypeInfo** out)> input_type{table};
  Slot<34, OrtStatus*(const Session*, size_t i, TypeInfo** out)> output_type{table};
  Slot<36, OrtStatus*(const Session*, size_t i, Allocator*, char** out)> input_name{table};
  Slot<37, OrtStatus*(const Session*, size_t i, Allocator*, char** out)> output_name{table};
  Slot<95, void(Session*)> release_session{table};

  Slot<69, OrtStatus*(int allocator_type, int memory_type, MemoryInfo** out)> create_cpu_memory_info{table};
  Slot<78, OrtStatus*(Allocator** out)> default_allocator{table};  // owned by the library
  Slot<76, OrtStatus*(Allocator*, void*)> allocator_free{table};

  Slot<48, OrtStatus*(Allocator*, const int64_t* shape, size_t rank, int dtype, Value** out)> create_tensor{
      table};
  Slot<49, OrtStatus*(const MemoryInfo*, void* data, size_t bytes, const int64_t* shape, size_t rank,
                      int dtype, Value** out)>
      create_tensor_on_data{table};
  Slot<51, OrtStatus*(Value*, void** out)> tensor_data{table};
  Slot<65, OrtStatus*(const Value*, TensorInfo** out)> tensor_info{table};
  Slot<127, OrtStatus*(const Value*, size_t i, size_t* bytes)> string_length{table};
  Slot<128, OrtStatus*(const Value*, size_t bytes, size_t i, void* out)> string_content{table};
  Slot<252, OrtStatus*(Value*, size_t i, size_t bytes, char** buffer)> string_buffer{
      table};  // resizes string i

  Slot<67, OrtStatus*(const Value*, Kind* out)> value_kind{table};
  Slot<192, OrtStatus*(const Value*, int* out)> has_value{table};
  Slot<80, OrtStatus*(const Value*, int i, Allocator*, Value** out)> element{table};
  Slot<81, OrtStatus*(const Value*, size_t* out)> element_count{table};
  Slot<82, OrtStatus*(const Value* const* elements, size_t count, Kind, Value** out)> create_value{table};
  Slot<96, void(Value*)> release_value{table};

  Slot<56, OrtStatus*(const TypeInfo*, Kind* out)> type_kind{table};
  Slot<55, OrtStatus*(const TypeInfo*, const TensorInfo** out)> as_tensor_info{
      table};  // part of the TypeInfo
  Slot<104, OrtStatus*(const TypeInfo*, const SequenceInfo** out)> as_sequence_info{
      table};                                                                      // part of the TypeInfo
  Slot<103, OrtStatus*(const TypeInfo*, const MapInfo** out)> as_map_info{table};  // part of the TypeInfo
  Slot<250, OrtStatus*(const TypeInfo*, const OptionalInfo** out)> as_optional_info{
      table};  // part of the TypeInfo
  Slot<107, OrtStatus*(const SequenceInfo*, TypeInfo** out)> sequence_element{table};
  Slot<105, OrtStatus*(const MapInfo*, int* dtype)> map_key{table};
  Slot<106, OrtStatus*(const MapInfo*, TypeInfo** out)> map_value{table};
  Slot<251, OrtStatus*(const OptionalInfo*, TypeInfo** out)> optional_content{table};
  Slot<60, OrtStatus*(const TensorInfo*, int* dtype)> element_type{table};
  Slot<61, OrtStatus*(const TensorInfo*, size_t* rank)> rank{table};
  Slot<62, OrtStatus*(const TensorInfo*, int64_t* sizes, size_t rank)> sizes{table};
  Slot<63, OrtStatus*(const TensorInfo*, const char** names, size_t rank)> size_names{table};
  Slot<98, void(TypeInfo*)> release_type{table};
  Slot<99, void(TensorInfo*)> release_tensor_info{table};
};

}  // namespace intarsia::ort
