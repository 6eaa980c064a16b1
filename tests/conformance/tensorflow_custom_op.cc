// Custom TensorFlow operator that uses TensorFlow's C API for kernels: SquashedCube, y = x^3 / (1 + scale *
// |x|^3) of float32. It keeps values between -1/scale and 1/scale, so that a network may contain it anywhere.
//
// scripts/make_tensorflow_models.py compiles it and saves a model with it.
#include <cmath>
#include <cstdint>
#include <memory>

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_tensor.h"

namespace {

constexpr char kName[] = "SquashedCube";

using Status = std::unique_ptr<TF_Status, decltype(&TF_DeleteStatus)>;
using Tensor = std::unique_ptr<TF_Tensor, decltype(&TF_DeleteTensor)>;

Status make_status() { return {TF_NewStatus(), TF_DeleteStatus}; }
bool is_ok(const Status& status) { return TF_GetCode(status.get()) == TF_OK; }

void* create(TF_OpKernelConstruction* construction) {
  auto scale = std::make_unique<float>(0.0f);
  Status status = make_status();
  TF_OpKernelConstruction_GetAttrFloat(construction, "scale", scale.get(), status.get());
  if (!is_ok(status)) TF_OpKernelConstruction_Failure(construction, status.get());
  return scale.release();
}

void destroy(void* scale) { delete static_cast<float*>(scale); }

void cube(const float* x, float* y, int64_t count, float scale) {
  for (int64_t i = 0; i < count; ++i) {
    const float cubed = x[i] * x[i] * x[i];
    y[i] = cubed / (1.0f + scale * std::fabs(cubed));
  }
}

void compute(void* scale, TF_OpKernelContext* context) {
  Status status = make_status();
  TF_Tensor* read = nullptr;
  TF_GetInput(context, 0, &read, status.get());
  if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());
  const Tensor x(read, TF_DeleteTensor);
  int64_t dims[8] = {};
  const int rank = TF_NumDims(x.get());
  if (rank > 8) {
    TF_SetStatus(status.get(), TF_INVALID_ARGUMENT, "SquashedCube takes at most 8 dimensions");
    return TF_OpKernelContext_Failure(context, status.get());
  }
  for (int i = 0; i < rank; ++i) dims[i] = TF_Dim(x.get(), i);
  const Tensor y(
      TF_AllocateOutput(context, 0, TF_FLOAT, dims, rank, TF_TensorByteSize(x.get()), status.get()),
      TF_DeleteTensor);
  if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());
  cube(static_cast<const float*>(TF_TensorData(x.get())), static_cast<float*>(TF_TensorData(y.get())),
       TF_TensorElementCount(x.get()), *static_cast<const float*>(scale));
}

void infer_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeHandle* shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(context, 0, shape, status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetOutput(context, 0, shape, status);
  TF_DeleteShapeHandle(shape);
}

void register_operator(TF_Status* status) {
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder(kName);
  TF_OpDefinitionBuilderAddInput(builder, "x: float");
  TF_OpDefinitionBuilderAddOutput(builder, "y: float");
  TF_OpDefinitionBuilderAddAttr(builder, "scale: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, infer_shape);
  TF_RegisterOpDefinition(builder, status);
}

// Runs when the library is loaded, by tf.load_op_library or TF_LoadLibrary.
__attribute__((constructor)) void register_all() {
  Status status = make_status();
  register_operator(status.get());
  if (!is_ok(status)) return;  // TensorFlow then reports that it does not know the operator
  TF_RegisterKernelBuilder(kName, TF_NewKernelBuilder(kName, "CPU", create, compute, destroy), status.get());
}

}  // namespace
