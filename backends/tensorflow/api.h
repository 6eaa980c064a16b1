// Functions of TensorFlow's C API (c_api.h, tf_tensor.h, tf_tstring.h) that we call, as pointers found at run
// time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intarsia::tf {

struct TF_Status;
struct TF_Tensor;
struct TF_Graph;
struct TF_Operation;
struct TF_OperationDescription;
struct TF_Session;
struct TF_SessionOptions;
struct TF_ImportGraphDefOptions;
struct TF_Library;

/// Output (or fed input) of a node.
struct TF_Output {
  TF_Operation* operation;
  int index;
};

struct TF_Buffer {
  const void* data;
  size_t length;
  void (*release)(void* data, size_t length);
};

/// String inside a tensor; only the functions below touch its 24 bytes.
struct TF_TString {
  alignas(8) unsigned char bytes[24];
};

struct Api {
  const char* (*version)();
  TF_Status* (*new_status)();
  void (*delete_status)(TF_Status*);
  int (*code)(const TF_Status*);
  const char* (*message)(const TF_Status*);

  TF_Buffer* (*new_buffer)();
  void (*delete_buffer)(TF_Buffer*);

  TF_Tensor* (*new_tensor)(int type, const int64_t* dims, int rank, void* data, size_t bytes,
                           void (*release)(void* data, size_t bytes, void* user), void* user);
  TF_Tensor* (*allocate_tensor)(int type, const int64_t* dims, int rank, size_t bytes);
  void (*delete_tensor)(TF_Tensor*);
  int (*tensor_type)(const TF_Tensor*);
  int (*rank)(const TF_Tensor*);
  int64_t (*size)(const TF_Tensor*, int axis);
  size_t (*tensor_bytes)(const TF_Tensor*);
  void* (*tensor_data)(const TF_Tensor*);

  void (*string_init)(TF_TString*);
  void (*string_copy)(TF_TString*, const char* text, size_t bytes);
  const char* (*string_data)(const TF_TString*);
  size_t (*string_bytes)(const TF_TString*);
  void (*string_release)(TF_TString*);

  TF_Graph* (*new_graph)();
  void (*delete_graph)(TF_Graph*);
  TF_ImportGraphDefOptions* (*new_import_options)();
  void (*delete_import_options)(TF_ImportGraphDefOptions*);
  void (*import_graph)(TF_Graph*, const TF_Buffer*, const TF_ImportGraphDefOptions*, TF_Status*);
  TF_Operation* (*find_operation)(TF_Graph*, const char* name);
  int (*output_count)(TF_Operation*);
  int (*output_type)(TF_Output);
  int (*output_rank)(TF_Graph*, TF_Output, TF_Status*);
  void (*output_sizes)(TF_Graph*, TF_Output, int64_t* sizes, int rank, TF_Status*);
  TF_OperationDescription* (*new_operation)(TF_Graph*, const char* op, const char* name);
  void (*add_input)(TF_OperationDescription*, TF_Output);
  void (*set_type)(TF_OperationDescription*, const char* attribute, int type);
  TF_Operation* (*finish_operation)(TF_OperationDescription*, TF_Status*);
  void (*get_type)(TF_Operation*, const char* attribute, int* type, TF_Status*);

  TF_SessionOptions* (*new_session_options)();
  void (*delete_session_options)(TF_SessionOptions*);
  void (*set_config)(TF_SessionOptions*, const void* config, size_t bytes, TF_Status*);
  TF_Session* (*new_session)(TF_Graph*, const TF_SessionOptions*, TF_Status*);
  TF_Session* (*load_saved_model)(const TF_SessionOptions*, const TF_Buffer* run_options, const char* folder,
                                  const char* const* tags, int tag_count, TF_Graph*, TF_Buffer* meta_graph,
                                  TF_Status*);
  void (*close_session)(TF_Session*, TF_Status*);
  void (*delete_session)(TF_Session*, TF_Status*);
  void (*run)(TF_Session*, const TF_Buffer* run_options, const TF_Output* inputs,
              TF_Tensor* const* input_values, int input_count, const TF_Output* outputs,
              TF_Tensor** output_values, int output_count, const TF_Operation* const* targets,
              int target_count, TF_Buffer* run_metadata, TF_Status*);

  TF_Buffer* (*all_ops)();
  TF_Buffer* (*kernels_of)(const char* op, TF_Status*);
  TF_Library* (*load_library)(const char* path, TF_Status*);
  void (*export_graph)(TF_Graph*, TF_Buffer*, TF_Status*);
};

}  // namespace intarsia::tf
