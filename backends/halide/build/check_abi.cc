// Compile-time comparison of halide_abi.h with Halide's own headers. No code here runs: differences do not
// compile, for functions because both headers declare them in C.
#include <HalideRuntime.h>
#include <HalideRuntimeCuda.h>
#include <HalideRuntimeOpenCL.h>

#include <cstddef>

#include "backends/halide/abi/halide_abi.h"

namespace intarsia::halide {
namespace {

#define SAME_FIELD(Ours, Theirs, field)                            \
  static_assert(offsetof(Ours, field) == offsetof(Theirs, field)); \
  static_assert(sizeof(Ours::field) == sizeof(Theirs::field))

SAME_FIELD(HalideDimension, halide_dimension_t, min);
SAME_FIELD(HalideDimension, halide_dimension_t, extent);
SAME_FIELD(HalideDimension, halide_dimension_t, stride);
SAME_FIELD(HalideDimension, halide_dimension_t, flags);
static_assert(sizeof(HalideDimension) == sizeof(halide_dimension_t));

SAME_FIELD(HalideType, halide_type_t, code);
SAME_FIELD(HalideType, halide_type_t, bits);
SAME_FIELD(HalideType, halide_type_t, lanes);
static_assert(sizeof(HalideType) == sizeof(halide_type_t));
static_assert(int{halide_signed} == int{halide_type_int});
static_assert(int{halide_unsigned} == int{halide_type_uint});
static_assert(int{halide_floating} == int{halide_type_float});
static_assert(int{halide_bfloat} == int{halide_type_bfloat});

SAME_FIELD(HalideBuffer, halide_buffer_t, device);
SAME_FIELD(HalideBuffer, halide_buffer_t, device_interface);
SAME_FIELD(HalideBuffer, halide_buffer_t, host);
SAME_FIELD(HalideBuffer, halide_buffer_t, flags);
SAME_FIELD(HalideBuffer, halide_buffer_t, type);
SAME_FIELD(HalideBuffer, halide_buffer_t, dimensions);
SAME_FIELD(HalideBuffer, halide_buffer_t, dim);
SAME_FIELD(HalideBuffer, halide_buffer_t, padding);
static_assert(sizeof(HalideBuffer) == sizeof(halide_buffer_t));

static_assert(int{halide_out_of_memory} == int{halide_error_code_out_of_memory});
static_assert(int{halide_launch_failed} == int{halide_error_code_device_run_failed});

#undef SAME_FIELD

}  // namespace
}  // namespace intarsia::halide
