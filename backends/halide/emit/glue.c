/* The functions that kernels call, forwarded to the kernel runtime's table. Linked once into every program
   that has kernels; hidden there, so that programs in one process do not see each other's. Needs no library.
 */
#include "backends/halide/abi/halide_abi.h"

int halide_do_par_for(void* user_context, HalideTask task, int min, int size, uint8_t* closure) {
  struct HalideKernelRuntime* runtime = user_context;
  return runtime->parallel_for(runtime, task, min, size, closure);
}

void* halide_malloc(void* user_context, size_t bytes) {
  struct HalideKernelRuntime* runtime = user_context;
  return runtime->allocate(runtime, bytes);
}

void halide_free(void* user_context, void* memory) {
  struct HalideKernelRuntime* runtime = user_context;
  runtime->release(runtime, memory);
}

void halide_error(void* user_context, const char* message) {
  struct HalideKernelRuntime* runtime = user_context;
  runtime->error(runtime, message);
}

int halide_error_out_of_memory(void* user_context) {
  halide_error(user_context, "out of memory");
  return halide_out_of_memory;
}
