/* Functions that kernels call; they forward to the kernel runtime's table. Linked once into every program
   that has kernels, with hidden symbols, so that programs in one process do not see each other's. Needs no
   library.
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

int halide_error_buffer_allocation_too_large(void* user_context) {
  return halide_error_out_of_memory(user_context);
}

int halide_opencl_initialize_kernels(void* user_context, void** state, const char* text, int bytes) {
  struct HalideKernelRuntime* runtime = user_context;
  return runtime->initialize(runtime, state, text, bytes);
}

int halide_opencl_run(void* user_context, void* state, const char* entry, int groups_x, int groups_y,
                      int groups_z, int items_x, int items_y, int items_z, int shared_bytes,
                      size_t argument_bytes[], void* arguments[], int8_t are_buffers[]) {
  struct HalideKernelRuntime* runtime = user_context;
  const struct HalideLaunch launch = {entry,
                                      {groups_x, groups_y, groups_z},
                                      {items_x, items_y, items_z},
                                      shared_bytes,
                                      argument_bytes,
                                      arguments,
                                      are_buffers};
  return runtime->launch(runtime, state, &launch);
}

void halide_opencl_finalize_kernels(void* user_context, void* state) {
  (void)user_context;
  (void)state;
}

/* Returns a handle that Halide only passes on. */
const struct halide_device_interface_t* halide_opencl_device_interface(void) { return 0; }

int halide_cuda_initialize_kernels(void* user_context, void** state, const char* text, int bytes) {
  return halide_opencl_initialize_kernels(user_context, state, text, bytes);
}

int halide_cuda_run(void* user_context, void* state, const char* entry, int groups_x, int groups_y,
                    int groups_z, int items_x, int items_y, int items_z, int shared_bytes,
                    size_t argument_bytes[], void* arguments[], int8_t are_buffers[]) {
  return halide_opencl_run(user_context, state, entry, groups_x, groups_y, groups_z, items_x, items_y,
                           items_z, shared_bytes, argument_bytes, arguments, are_buffers);
}

void halide_cuda_finalize_kernels(void* user_context, void* state) {
  halide_opencl_finalize_kernels(user_context, state);
}

const struct halide_device_interface_t* halide_cuda_device_interface(void) { return 0; }

/* Does nothing: the session copies between memories. */
int halide_copy_to_device(void* user_context, struct halide_buffer_t* buffer,
                          const struct halide_device_interface_t* device_interface) {
  (void)user_context;
  (void)buffer;
  (void)device_interface;
  return 0;
}
