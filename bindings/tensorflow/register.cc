// Registration of the op and its kernels when TensorFlow opens this library.
#include <new>

#include "bindings/tensorflow/node.h"
#include "bindings/tensorflow/status.h"

namespace intarsia::op {
namespace {

/// Calls `body` and returns its failure; no exception leaves it.
template <typename Body>
Failure caught(const Body& body) {
  try {
    body();
    return {Code::ok, ""};
  } catch (Failure& failure) {
    return std::move(failure);
  } catch (const std::bad_alloc&) {
    return {Code::resource_exhausted, "out of memory"};
  } catch (const std::exception& error) {
    return {Code::internal, std::string("bug in Intarsia: please report it: ") + error.what()};
  }
}

void* create(TF_OpKernelConstruction* construction) {
  Node* node = nullptr;
  Failure failure = caught([&] { node = new Node(construction); });
  if (node != nullptr) return node;
  const TF_StringView name = TF_OpKernelConstruction_GetName(construction);
  failure.message = "node '" + std::string(name.data, name.len) + "': " + failure.message;
  TF_OpKernelConstruction_Failure(construction, Status(failure).get());
  return nullptr;
}

void compute(void* kernel, TF_OpKernelContext* context) {
  Node& node = *static_cast<Node*>(kernel);
  Failure failure = caught([&] { node.compute(context); });
  if (failure.code == Code::ok) return;
  failure.message = "node '" + node.name() + "': " + failure.message;
  TF_OpKernelContext_Failure(context, Status(failure).get());
}

void release(void* kernel) { delete static_cast<Node*>(kernel); }

/// Leaves all shapes open: a shape function in C sees only shapes of inputs and single types.
void infer_shapes(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
}

void register_op() {
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder(op_name);
  TF_OpDefinitionBuilderAddInput(builder, "artifact: string");
  TF_OpDefinitionBuilderAddInput(builder, "inputs: Tin");
  TF_OpDefinitionBuilderAddOutput(builder, "outputs: Tout");
  for (const char* attribute : {"Tin: list(type) >= 0", "Tout: list(type) >= 0", "function: string = ''",
                                "threads: int = 0", "bindings: list(string) = []"})
    TF_OpDefinitionBuilderAddAttr(builder, attribute);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, infer_shapes);
  const Status status;
  TF_RegisterOpDefinition(builder, status.get());
}

void register_kernel(const char* device, const char* name) {
  TF_KernelBuilder* builder = TF_NewKernelBuilder(op_name, device, create, compute, release);
  for (const char* argument : {"artifact", "inputs", "outputs"})
    TF_KernelBuilder_HostMemory(builder, argument);
  const Status status;
  TF_RegisterKernelBuilder(name, builder, status.get());
}

__attribute__((constructor)) void register_all() {
  register_op();
  register_kernel("CPU", "IntarsiaOnCpu");
  // TensorFlow copies tensors to the host and back, in the order of the device's work.
  register_kernel("GPU", "IntarsiaOnGpu");
}

}  // namespace
}  // namespace intarsia::op

void TF_InitKernel() {}  // all is registered by now, as TF_LoadLibrary of C does not call this
