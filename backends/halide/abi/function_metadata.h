// Metadata that Halide puts beside a function's code: what the run half and the compile half read of them.
// Layouts and numbers are those of Halide's public runtime interface (HalideRuntime.h).
#pragma once

#include <string_view>

#include "backends/halide/abi/halide_abi.h"

namespace intarsia::halide {

enum class ArgumentKind : int32_t { scalar_input = 0, input_buffer = 1, output_buffer = 2 };

/// Layout of halide_filter_argument_t.
struct FunctionArgument {
  const char* name;
  ArgumentKind kind;
  int32_t dimensions;  // 0 for scalars
  HalideType type;
  const void *scalar_default, *scalar_min, *scalar_max, *scalar_estimate;
  const int64_t* const* buffer_estimates;
};

/// Layout of halide_filter_metadata_t.
struct FunctionMetadata {
  int32_t version;  // 1
  int32_t argument_count;
  const FunctionArgument* arguments;
  const char *target, *name;
};
inline constexpr int32_t function_metadata_version = 1;

/// Version of the plan of a region that is a user's function.
inline constexpr uint32_t function_plan_version = 100;

/// Form of the symbols NAME_metadata and NAME_argv.
using MetadataFunction = const FunctionMetadata* (*)();
using FunctionCode = int (*)(void** arguments);

inline constexpr std::string_view user_context_name = "__user_context";
inline constexpr int32_t max_function_arguments = 64, max_function_dimensions = 256;  // of all arguments

}  // namespace intarsia::halide
