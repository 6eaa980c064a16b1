/* The binary interface of kernels: what the run half and the glue object must agree on with Halide's code.
   Layouts, numbers and functions as in Halide's public runtime interface (HalideRuntime.h), with which
   build/check_abi.cc compares them when Halide is there. C and C++. */
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

enum HalideTypeCode { halide_signed = 0, halide_unsigned = 1, halide_floating = 2 };

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
  const struct HalideDimension* dim; /* which kernels only read */
  void* padding;
};

typedef int (*HalideTask)(void* user_context, int index, uint8_t* closure);

enum { halide_out_of_memory = -11 }; /* the status of a kernel that got no memory */

/* What kernels call; glue.c has them. */
int halide_do_par_for(void* user_context, HalideTask task, int min, int size, uint8_t* closure);
void* halide_malloc(void* user_context, size_t bytes);
void halide_free(void* user_context, void* memory);
void halide_error(void* user_context, const char* message);
int halide_error_out_of_memory(void* user_context);

/* What a kernel's user context points to. All functions may be called from any worker of the run. */
struct HalideKernelRuntime {
  int (*parallel_for)(struct HalideKernelRuntime* runtime, HalideTask task, int min, int size,
                      uint8_t* closure);
  void* (*allocate)(struct HalideKernelRuntime* runtime, size_t bytes); /* 64-byte aligned; null: none left */
  void (*release)(struct HalideKernelRuntime* runtime, void* memory);   /* LIFO, by the same worker */
  void (*error)(struct HalideKernelRuntime* runtime, const char* message);
};

#ifdef __cplusplus
}
#endif
#endif
