/* The binary interface of kernels: what the run half and the glue object must agree on with Halide's code.
   Layouts as in Halide's public runtime interface (HalideRuntime.h, unchanged since Halide 8). C and C++. */
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

struct HalideType {
  uint8_t code; /* 0 signed, 1 unsigned, 2 float */
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
  struct HalideDimension* dim;
  void* padding;
};

typedef int (*HalideTask)(void* user_context, int index, uint8_t* closure);

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
