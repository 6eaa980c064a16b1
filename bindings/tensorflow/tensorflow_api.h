// Functions of TensorFlow's C API that an op library calls: those of c/kernels.h, c/ops.h, c/tf_tensor.h,
// c/tf_status.h and c/tf_datatype.h of its wheel, in libtensorflow_framework.so.2.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct TF_Status;
struct TF_Tensor;
struct TF_KernelBuilder;
struct TF_OpKernelConstruction;
struct TF_OpKernelContext;
struct TF_OpDefinitionBuilder;
struct TF_ShapeInferenceContext;
struct TF_StringView {
  const char* data;
  size_t len;
};

TF_Status* TF_NewStatus();
void TF_DeleteStatus(TF_Status*);
void TF_SetStatus(TF_Status*, int code, const char* message);
int TF_GetCode(const TF_Status*);
const char* TF_Message(const TF_Status*);

TF_Tensor* TF_NewTensor(int type, const int64_t* dims, int rank, void* data, size_t bytes,
                        void (*release)(void* data, size_t bytes, void* user), void* user);
void TF_DeleteTensor(TF_Tensor*);
int TF_NumDims(const TF_Tensor*);
int64_t TF_Dim(const TF_Tensor*, int axis);
size_t TF_TensorByteSize(const TF_Tensor*);
void* TF_TensorData(const TF_Tensor*);
int64_t TF_TensorElementCount(const TF_Tensor*);
size_t TF_DataTypeSize(int type);

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* name);
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder*,
                                                     void (*infer)(TF_ShapeInferenceContext*, TF_Status*));
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder*, TF_Status*);  // takes the builder
void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext*, TF_Status*);

TF_KernelBuilder* TF_NewKernelBuilder(const char* op, const char* device,
                                      void* (*create)(TF_OpKernelConstruction*),
                                      void (*compute)(void* kernel, TF_OpKernelContext*),
                                      void (*release)(void* kernel));
void TF_KernelBuilder_HostMemory(TF_KernelBuilder*, const char* argument);
void TF_RegisterKernelBuilder(const char* name, TF_KernelBuilder*, TF_Status*);  // takes the builder

TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction*);
void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction*, const char* attribute, int64_t*,
                                          TF_Status*);
/// Sets list_size to -1 unless the attribute is a list, and total_size to the bytes of all strings together.
void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction*, const char* attribute, int32_t* list_size,
                                         int32_t* total_size, TF_Status*);
void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction*, const char* attribute, char* text,
                                           size_t max_bytes, TF_Status*);
void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction*, const char* attribute, char** texts,
                                               size_t* sizes, int max_count, void* storage,
                                               size_t storage_bytes, TF_Status*);
void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction*, TF_Status*);

int TF_NumInputs(TF_OpKernelContext*);
int TF_NumOutputs(TF_OpKernelContext*);
int TF_InputDatatype(TF_OpKernelContext*, int input);
int TF_ExpectedOutputDataType(TF_OpKernelContext*, int output);
void TF_GetInput(TF_OpKernelContext*, int input, TF_Tensor**, TF_Status*);
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext*, int output, int type, const int64_t* dims, int rank,
                             size_t bytes, TF_Status*);
void TF_SetOutput(TF_OpKernelContext*, int output, const TF_Tensor*, TF_Status*);
void TF_OpKernelContext_Failure(TF_OpKernelContext*, TF_Status*);

/// Called by TensorFlow when it loads the library as a plug-in.
__attribute__((visibility("default"))) void TF_InitKernel();
}
