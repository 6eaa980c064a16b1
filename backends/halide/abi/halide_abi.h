/* Binary interface of kernels: what the run half and the glue object must agree on with Halide's code.
   Layouts, numbers and functions are those of Halide's public runtime interface (HalideRuntime.h);
   build/check_abi.cc compares them where Halide is available. C and C++. */
#ifndef INTARSIA_HALIDE_ABI_H
#define INTARSIA_HALIDE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct HalideDimension {
  int32_t min, extent, stride; /* stride in elements */
  uint32_t flags;
};

enum HalideTypeCode { halide_signed = 0, halide_unsigned = 1, halide_floating = 2, halide_bfloat = 4 };

struct HalideType {
  uint8_t code; /* a HalideTypeCode */
  uint8_t bits;
  uint16_t lanes;
};

struct HalideBuffer {
  uint64_t device;
  const void* device_interface;
  uint8_t* host;
  uint64_t flags;
  struct HalideType type;
  int32_t dimensions;
  const struct HalideDimension* dim; /* kernels only read it */
  void* padding;
};

typedef int (*HalideTask)(void* user_context, int index, uint8_t* closure);

enum {
  halide_out_of_memory = -11, /* status of a kernel that got no memory */
  halide_launch_failed = -23  /* status of a launch that failed */
};

struct halide_buffer_t;           /* a HalideBuffer */
struct halide_device_interface_t; /* opaque; its contents are not used */

/* Functions that kernels call; glue.c defines them. Kernels that run on a device call those of OpenCL or
   those of CUDA, in this order. */
int halide_do_par_for(void* user_context, HalideTask task, int min, int size, uint8_t* closure);
void* halide_malloc(void* user_context, size_t bytes);
void halide_free(void* user_context, void* memory);
void halide_error(void* user_context, const char* message);
int halide_error_out_of_memory(void* user_context);
int halide_opencl_initialize_kernels(void* user_context, void** state, const char* text, int bytes);
int halide_copy_to_device(void* user_context, struct halide_buffer_t* buffer,
                          const struct halide_device_interface_t* device_interface);
int halide_opencl_run(void* user_context, void* state, const char* entry, int groups_x, int groups_y,
                      int groups_z, int items_x, int items_y, int items_z, int shared_bytes,
                      size_t argument_bytes[], void* arguments[], int8_t are_buffers[]);
void halide_opencl_finalize_kernels(void* user_context, void* state);
const struct halide_device_interface_t* halide_opencl_device_interface(void);
int halide_cuda_initialize_kernels(void* user_context, void** state, const char* text, int bytes);
int halide_cuda_run(void* user_context, void* state, const char* entry, int groups_x, int groups_y,
                    int groups_z, int items_x, int items_y, int items_z, int shared_bytes,
                    size_t argument_bytes[], void* arguments[], int8_t are_buffers[]);
void halide_cuda_finalize_kernels(void* user_context, void* state);
const struct halide_device_interface_t* halide_cuda_device_interface(void);

/* Work items of a kernel on a device. */
struct HalideLaunch {
  const char* entry; /* name of the code in the program's text */
  int32_t groups[3];
  int32_t group_items[3];
  int32_t shared_bytes;         /* memory that a group shares */
  const size_t* argument_bytes; /* ends with 0 */
  void* const* arguments;       /* addresses of HalideBuffers and of scalars */
  const int8_t* are_buffers;
};

/* Object that a kernel's user context points to. Any worker of the run may call its functions. */
struct HalideKernelRuntime {
  int (*parallel_for)(struct HalideKernelRuntime* runtime, HalideTask task, int min, int size,
                      uint8_t* closure);
  void* (*allocate)(struct HalideKernelRuntime* runtime, size_t bytes); /* 64-byte aligned, or null */
  void (*release)(struct HalideKernelRuntime* runtime, void* memory);   /* called by the allocating worker */
  void (*error)(struct HalideKernelRuntime* runtime, const char* message);
  /* Registers code for a device: `text` is the program's text, which ends with a zero byte; `state` receives
     what is kept of it until the launches that follow. Kernels ignore the status: the runtime keeps its
     errors. */
  int (*initialize)(struct HalideKernelRuntime* runtime, void** state, const char* text, int bytes);
  int (*launch)(struct HalideKernelRuntime* runtime, void* state, const struct HalideLaunch* launch);
};

#ifdef __cplusplus
}
#endif
#endif
