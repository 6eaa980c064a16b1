/* The functions that kernels call, forwarded to the host's table. Linked once into every program that has
   kernels; hidden there, so that programs side by side do not see each other's. Needs no library. */
#include "backends/halide/abi/halide_abi.h"

int halide_do_par_for(void* user_context, HalideTask task, int min, int size, uint8_t* closure) {
  struct HalideHost* host = user_context;
  return host->parallel_for(host, task, min, size, closure);
}

void* halide_malloc(void* user_context, size_t bytes) {
  struct HalideHost* host = user_context;
  return host->allocate(host, bytes);
}

void halide_free(void* user_context, void* memory) {
  struct HalideHost* host = user_context;
  host->release(host, memory);
}

void halide_error(void* user_context, const char* message) {
  struct HalideHost* host = user_context;
  host->error(host, message);
}

int halide_error_out_of_memory(void* user_context) {
  halide_error(user_context, "out of memory");
  return halide_out_of_memory;
}
