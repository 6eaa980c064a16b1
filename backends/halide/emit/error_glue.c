/* Errors of functions that users wrote with Halide: their code checks its arguments, and calls these. Linked
   into programs that have such functions, next to glue.c. Halide passes numbers after the user context, which
   are left out of the messages. */
#include "backends/halide/abi/halide_abi.h"

enum { failed = -1 };

#define ERROR(name, message)                    \
  int halide_error_##name(void* user_context) { \
    halide_error(user_context, message);        \
    return failed;                              \
  }

ERROR(bounds_inference_call_failed, "a stage of the function cannot tell what it reads")
ERROR(extern_stage_failed, "a stage in foreign code failed")
ERROR(explicit_bounds_too_small, "a bound of the function is less than what is computed")
ERROR(bad_type, "an argument has another type than the function's")
ERROR(bad_dimensions, "an argument has another rank than the function's")
ERROR(access_out_of_bounds, "an argument is smaller than what the function reads or writes")
ERROR(buffer_extents_negative, "an argument has a negative size")
ERROR(buffer_extents_too_large, "an argument has over 2^31 elements")
ERROR(constraints_make_required_region_smaller, "a constraint of an argument is less than what is accessed")
ERROR(constraint_violated, "an argument violates a constraint of the function")
ERROR(param_too_small_i64, "a parameter is less than its minimum")
ERROR(param_too_small_u64, "a parameter is less than its minimum")
ERROR(param_too_small_f64, "a parameter is less than its minimum")
ERROR(param_too_large_i64, "a parameter is greater than its maximum")
ERROR(param_too_large_u64, "a parameter is greater than its maximum")
ERROR(param_too_large_f64, "a parameter is greater than its maximum")
ERROR(buffer_argument_is_null, "an argument is missing")
ERROR(debug_to_file_failed, "cannot write a file for debugging")
ERROR(unaligned_host_ptr, "an argument's memory is not aligned as the function wants it")
ERROR(host_is_null, "an argument has no memory")
ERROR(bad_fold, "a stage's storage cannot be folded as it was scheduled")
ERROR(bad_extern_fold, "a foreign stage's storage cannot be folded as it was scheduled")
ERROR(fold_factor_too_small, "a stage's storage is folded by too small a factor")
ERROR(requirement_failed, "a requirement of the function does not hold")
ERROR(specialize_fail, "the function has no case for these arguments")
ERROR(no_device_interface, "the function is for a device")
ERROR(device_interface_no_device, "the function is for a device")
ERROR(host_and_device_dirty, "the function is for a device")
ERROR(buffer_is_null, "an argument is missing")
ERROR(device_dirty_with_no_device_support, "the function is for a device")
ERROR(storage_bound_too_small, "a stage needs more storage than it was scheduled")
ERROR(device_crop_failed, "the function is for a device")
ERROR(split_factor_not_positive, "a split factor of the schedule is not positive")
ERROR(vscale_invalid, "the function is for another processor")
