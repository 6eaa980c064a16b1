#include "backends/halide/functions/bounds_query.h"

#include "backends/halide/abi/argument_buffers.h"
#include "backends/halide/runtime/kernel_runtime.h"

namespace intarsia::halide {

Result<QueriedFunction> QueriedFunction::find(const LoadedCode& code, const std::string& symbol) {
  const auto metadata = reinterpret_cast<MetadataFunction>(code.symbol(symbol + "_metadata"));
  const auto function = reinterpret_cast<FunctionCode>(code.symbol(symbol + "_argv"));
  if (metadata == nullptr || function == nullptr)
    return fail(
        "its object has no {0}_argv and {0}_metadata; want an object that Halide compiled under the name {0}",
        symbol);
  const QueriedFunction found{metadata(), function};
  if (found.about->version != function_metadata_version)
    return fail(ErrorKind::version, "its metadata have version {}, want {}", found.about->version,
                function_metadata_version);
  if (found.about->argument_count < 1 || found.about->arguments[0].name != user_context_name)
    return fail("it has no user context; want the target feature user_context");
  int32_t dimensions = 0;
  for (const FunctionArgument& argument : found.arguments()) dimensions += argument.dimensions;
  if (found.about->argument_count > max_function_arguments || dimensions > max_function_dimensions)
    return fail(ErrorKind::unsupported, "it has {} arguments of {} dimensions in all; at most {} and {} work",
                found.about->argument_count - 1, dimensions, max_function_arguments - 1,
                max_function_dimensions);
  return found;
}

namespace {

/// Returns a value for a scalar that the function accepts.
const void* usual_value(const FunctionArgument& argument) {
  alignas(16) static constexpr uint64_t zeros[2] = {};
  for (const void* value : {argument.scalar_default, argument.scalar_estimate, argument.scalar_min}) {
    if (value != nullptr) return value;
  }
  return zeros;
}

}  // namespace

Result<Intervals> QueriedFunction::query(const Intervals& given) const {
  KernelRuntime runtime(nullptr, 0, {});
  ArgumentBuffers buffers(runtime.table());
  std::vector<HalideBuffer*> queried(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const FunctionArgument& argument = arguments()[i];
    if (argument.kind == ArgumentKind::scalar_input) {
      buffers.add_scalar(const_cast<void*>(usual_value(argument)));
      continue;
    }
    std::vector<int64_t> sizes;
    std::vector<int32_t> mins;
    for (auto at = given[i].rbegin(); at != given[i].rend(); ++at) {
      sizes.push_back(at->extent);
      mins.push_back(static_cast<int32_t>(at->min));
    }
    queried[i] = &buffers.add_buffer(argument.type, nullptr, sizes, mins);
  }
  if (const int status = code(buffers.pointers()); status != 0)
    return fail("it fails when asked what it reads: {} (status {})", runtime.message(), status);
  Intervals accessed(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    for (size_t axis = 0; axis < given[i].size(); ++axis)
      accessed[i].push_back({queried[i]->dim[axis].min, queried[i]->dim[axis].extent});
  }
  return accessed;
}

}  // namespace intarsia::halide
