#include "backends/halide/runtime/load.h"

#include <algorithm>

#include "backends/halide/abi/element_types.h"
#include "backends/halide/abi/function_metadata.h"
#include "backends/halide/abi/kernel_symbol.h"
#include "backends/halide/abi/region_plan_generated.h"
#include "backends/halide/runtime/calls_beside.h"
#include "backends/halide/runtime/load_function.h"
#include "backends/halide/runtime/load_open_region.h"
#include "backends/halide/runtime/plan_parts.h"
#include "backends/halide/runtime/region_executable.h"
#include "base/flat_buffer.h"
#include "base/int128.h"

namespace intarsia::halide {
namespace {

using Bytes = Int128;

/// Kernel, and its arguments as its code sees them.
struct LoadedKernel {
  KernelFunction function = nullptr;
  std::vector<BufferPlan> arguments;  // arguments without places
};

/// State of a region's plan as far as it is read.
struct Loading {
  const LoadContext& context;
  size_t unread;  // bytes of the blob that are not read yet
  const fbs::RegionPlan* plan = nullptr;
  std::vector<LoadedKernel> kernels = {};
  RegionCode region = {};
};

/// Takes a vector of parts from the blob. Returns false if it is missing or damaged. FlatBuffers data may
/// refer to one part many times, which our writer does not do: parts that exceed the blob are damage. The
/// FlatBuffers verifier does not check whether large elements are aligned either.
template <typename Vector>
bool read(Loading& state, const Vector* parts, size_t size) {
  const size_t alignment = size % 8 == 0 ? 8 : 4;
  if (parts == nullptr || parts->size() > state.unread / size) return false;
  if (parts->size() > 0 && !is_aligned(parts->Data(), alignment)) return false;  // empty ones may be anywhere
  state.unread -= parts->size() * size;
  return true;
}

Status load_sizes(Loading& state) {
  state.region.input_bytes.assign(state.plan->input_bytes()->begin(), state.plan->input_bytes()->end());
  state.region.output_bytes.assign(state.plan->output_bytes()->begin(), state.plan->output_bytes()->end());
  const bool is_offloaded = state.plan->device() != 0;
  if (is_offloaded && state.context.constant_places.size() != state.context.constants.size())
    return fail("halide: the region's kernels are for a device");
  if (state.plan->device() >= kernel_device_count) return damaged_plan();
  state.region.device = static_cast<KernelDevice>(state.plan->device());
  state.region.workers = state.plan->workers();
  state.region.scratch_offset = state.plan->scratch_offset();
  state.region.scratch_bytes = state.plan->scratch_bytes();
  const uint64_t workspace = state.region.workspace_bytes = state.plan->workspace_bytes();
  if (workspace > state.context.workspace_bytes)
    return fail("halide: the region's plan uses {} bytes of workspace, it has {}", workspace,
                state.context.workspace_bytes);
  bool fits =
      state.region.workers <= max_workers && state.region.scratch_offset % 64 == 0 &&
      state.region.scratch_bytes % 64 == 0 && state.region.scratch_offset <= workspace &&
      (state.region.workers == 0
           ? state.region.scratch_bytes == 0
           : state.region.scratch_bytes <= (workspace - state.region.scratch_offset) / state.region.workers);
  if (!fits) return fail("halide: the region's scratch does not fit its workspace of {} bytes", workspace);
  return {};
}

/// Loads what a region that is repeated for each item says of its inputs and outputs.
Status load_items(Loading& state) {
  const auto* moves = state.plan->input_moves();
  const auto* outputs = state.plan->item_outputs();
  if (moves == nullptr && outputs == nullptr) return {};
  RegionCode& region = state.region;
  if (!read(state, moves, sizeof(uint8_t)) || !read(state, outputs, sizeof(flatbuffers::uoffset_t)) ||
      moves->size() != region.input_bytes.size() || outputs->size() != region.output_bytes.size())
    return damaged_plan();
  region.input_moves.emplace(moves->begin(), moves->end());
  for (uint32_t i = 0; i < moves->size(); ++i)
    if (moves->Get(i) != 0 && region.input_bytes[i] == 0) return damaged_plan();
  for (uint32_t i = 0; i < outputs->size(); ++i) {
    const fbs::ItemOutput& output = *outputs->Get(i);
    const auto dtype = static_cast<DType>(output.dtype());
    if (output.dtype() >= dtype_count || !halide_type(dtype) ||
        !read(state, output.dims(), sizeof(int64_t)) || output.dims()->size() == 0 ||
        output.dims()->size() > max_dimensions)
      return damaged_plan();
    const Shape shape(output.dims()->begin(), output.dims()->end());
    const Result<int64_t> elements = checked_elements(shape);
    if (!elements || dtype_bytes(dtype, static_cast<size_t>(*elements)) != region.output_bytes[i])
      return damaged_plan();
    region.item_outputs.push_back({nullptr, dtype, shape});
  }
  return {};
}

Status load_argument(Loading& state, const fbs::Argument& from, LoadedKernel& kernel,
                     std::vector<ArgumentForm>& forms) {
  const auto dtype = static_cast<DType>(from.dtype());
  const std::optional<HalideType> type = from.dtype() < dtype_count ? halide_type(dtype) : std::nullopt;
  const auto *extents = from.extents(), *strides = from.strides();
  if (!type || !read(state, extents, sizeof(int32_t)) || !read(state, strides, sizeof(int32_t)) ||
      extents->size() != strides->size() || extents->size() > max_dimensions)
    return damaged_plan();
  BufferPlan& to = kernel.arguments.emplace_back();
  to.type = *type;
  for (uint32_t i = 0; i < extents->size(); ++i) {
    const int32_t extent = extents->Get(i), stride = strides->Get(i);
    if (extent < 1 || stride < 0)
      return fail("halide: an argument in the region's plan has extent {} and stride {}", extent, stride);
    to.dimensions.push_back({0, extent, stride, 0});
  }
  forms.push_back({dtype, {extents->begin(), extents->end()}, {strides->begin(), strides->end()}});
  return {};
}

Status load_kernel(Loading& state, const fbs::Kernel& from) {
  const auto* arguments = from.arguments();
  if (!from.symbol() || from.symbol()->size() > max_symbol_bytes ||
      !read(state, arguments, sizeof(flatbuffers::uoffset_t)) || arguments->size() == 0 ||
      arguments->size() > max_arguments)
    return damaged_plan();
  LoadedKernel kernel;
  std::vector<ArgumentForm> forms;
  for (uint32_t i = 0; i < arguments->size(); ++i)
    TRY(load_argument(state, *arguments->Get(i), kernel, forms));
  const std::string symbol = from.symbol()->str();
  if (!symbol.ends_with(symbol_ending(forms, state.region.device)))
    return fail("halide: the kernel '{}' was generated for other arguments than the region's plan passes",
                symbol);
  void* address = state.context.symbol ? state.context.symbol(symbol) : nullptr;
  if (!address) return fail("halide: the program has no kernel '{}'", symbol);
  kernel.function = as_function<KernelFunction>(address);
  state.kernels.push_back(std::move(kernel));
  return {};
}

/// Returns the bytes of the tensor that an argument lies in; nullopt if there is no such tensor.
std::optional<uint64_t> container_bytes(const Loading& state, const BufferPlan& buffer) {
  const size_t index = buffer.index;
  switch (buffer.where) {
    case BufferPlan::Where::input:
      return index < state.region.input_bytes.size() ? std::optional(state.region.input_bytes[index])
                                                     : std::nullopt;
    case BufferPlan::Where::output:
      return index < state.region.output_bytes.size() ? std::optional(state.region.output_bytes[index])
                                                      : std::nullopt;
    case BufferPlan::Where::constant:
      return index < state.context.constants.size()
                 ? std::optional<uint64_t>(state.context.constants[index].bytes())
                 : std::nullopt;
    case BufferPlan::Where::workspace:  // values may lie where kernels that run at other times have scratch
      return state.plan->workspace_bytes();
  }
  return std::nullopt;
}

/// Returns the bytes from the first to one past the last. Sizes are below 2^31, so that the sum of 16
/// products stays below 2^66.
Bytes reach_bytes(const BufferPlan& buffer) {
  Bytes reach = 1;
  for (const HalideDimension& dimension : buffer.dimensions)
    reach += static_cast<Bytes>(dimension.extent - 1) * dimension.stride;
  return reach * (buffer.type.bits / 8);
}

/// Places an argument in a tensor. Checks its first run and its last: it moves by equal steps.
Result<BufferPlan> place(const Loading& state, BufferPlan buffer, const fbs::Place& at, int64_t step,
                         uint32_t times) {
  buffer.where = static_cast<BufferPlan::Where>(at.where());
  buffer.index = at.index();
  buffer.offset = at.offset();
  const std::optional<uint64_t> container = container_bytes(state, buffer);
  if (!container) return fail("there is no tensor {} of kind {}", at.index(), static_cast<int>(at.where()));
  if (buffer.offset > *container || reach_bytes(buffer) > *container - buffer.offset)
    return fail("it lies outside of its tensor of {} bytes", *container);
  const Bytes last =
      static_cast<Bytes>(buffer.offset) + static_cast<Bytes>(step) * (static_cast<Bytes>(times) - 1);
  if (last < 0 || last + reach_bytes(buffer) > *container)
    return fail("it moves out of its tensor of {} bytes", *container);
  if (buffer.offset % (buffer.type.bits / 8) != 0 || step % (buffer.type.bits / 8) != 0)
    return fail("it lies at byte {} and moves by {}: between elements", buffer.offset, step);
  if (buffer.where == BufferPlan::Where::constant && state.region.device == KernelDevice::cpu)
    buffer.constant = {const_cast<void*>(state.context.constants[buffer.index].data), 0};
  else if (buffer.where == BufferPlan::Where::constant)
    buffer.constant = state.context.constant_places[buffer.index];
  return buffer;
}

Status check_output(const BufferPlan& buffer) {
  const bool writable =
      buffer.where == BufferPlan::Where::output || buffer.where == BufferPlan::Where::workspace;
  return writable ? Status() : fail("its output lies in an input or a constant");
}

Status load_check(Loading& state, const fbs::IndexCheck& from, const LoadedKernel& kernel, CallPlan& to) {
  if (!read(state, from.ranges(), sizeof(fbs::IndexRange)) || from.ranges()->size() == 0)
    return damaged_plan();
  if (from.argument() >= kernel.arguments.size())
    return fail("it checks argument {} of {}", from.argument(), kernel.arguments.size());
  const BufferPlan& argument = kernel.arguments[from.argument()];
  std::vector<IndexRange> ranges;
  for (const fbs::IndexRange* range : *from.ranges()) ranges.push_back({range->low(), range->high()});
  const auto checks = plan_index_checks(from.argument(), argument.dimensions, ranges);
  if (!checks || argument.type.code != halide_signed || argument.type.bits < 32)
    return fail("argument {} does not hold indices with {} ranges", from.argument(), ranges.size());
  to.checks.insert(to.checks.end(), checks->begin(), checks->end());
  return {};
}

Status load_checks(Loading& state, const fbs::Call& from, const LoadedKernel& kernel, CallPlan& to) {
  if (from.checks() == nullptr) return {};
  if (!read(state, from.checks(), sizeof(flatbuffers::uoffset_t))) return damaged_plan();
  for (uint32_t i = 0; i < from.checks()->size(); ++i)
    TRY(load_check(state, *from.checks()->Get(i), kernel, to));
  return {};
}

Status load_call(Loading& state, const fbs::Call& from) {
  if (from.kernel() >= state.kernels.size())
    return fail("no kernel {}; the plan has {}", from.kernel(), state.kernels.size());
  const LoadedKernel& kernel = state.kernels[from.kernel()];
  const size_t count = kernel.arguments.size();
  const size_t places = from.places() ? from.places()->size() : 0,
               steps = from.steps() ? from.steps()->size() : 0;
  if (places != count || (steps != 0 && steps != count))
    return fail("{} places and {} steps for a kernel of {} arguments", places, steps, count);
  if (!read(state, from.places(), sizeof(fbs::Place)) ||
      (steps != 0 && !read(state, from.steps(), sizeof(int64_t))))
    return damaged_plan();
  CallPlan to{kernel.function, {}, from.label() ? from.label()->string_view() : "", from.times(), {}, {}};
  to.is_copy = from.is_copy();
  for (uint32_t i = 0; i < count; ++i) {
    to.buffers.push_back(static_cast<uint32_t>(state.region.buffers.size()));
    const int64_t step = steps == 0 ? 0 : from.steps()->Get(i);
    if (steps != 0) to.steps.push_back(step);
    state.region.buffers.push_back(TRY(with_context(
        place(state, kernel.arguments[i], *from.places()->Get(i), step, from.times()), "argument {}", i)));
  }
  TRY(check_output(state.region.buffers.back()));
  TRY(load_checks(state, from, kernel, to));
  // An output that moves must stay in its tensor, which limits the runs; one that does not move needs this
  // limit.
  if (to.times < 1 || (to.times > max_times_in_place && (steps == 0 || to.steps.back() == 0)))
    return fail("it runs {} times, and its output does not move", to.times);
  state.region.calls.push_back(std::move(to));
  return {};
}

}  // namespace

Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  Loading state{.context = context, .unread = context.blob.size()};
  const auto* any = find_table<fbs::AnyPlan>(context.blob);
  if (any == nullptr) return damaged_plan();
  const uint32_t version = any->version();
  if (is_open_plan(version)) return load_open_region(context);
  if (version == function_plan_version) return load_function(context);
  if (version != 3)
    return fail(ErrorKind::version,
                "halide: the region's plan has version {}, this runtime reads 3 to {}; compile again",
                version, newest_open_plan_version);
  const fbs::RegionPlan* plan = state.plan = find_table<fbs::RegionPlan>(context.blob);
  if (plan == nullptr) return damaged_plan();
  if (!read(state, plan->input_bytes(), sizeof(uint64_t)) ||
      !read(state, plan->output_bytes(), sizeof(uint64_t)) ||
      !read(state, plan->kernels(), sizeof(flatbuffers::uoffset_t)) ||
      !read(state, plan->calls(), sizeof(flatbuffers::uoffset_t)))
    return damaged_plan();
  TRY(load_sizes(state));
  TRY(load_items(state));
  for (uint32_t i = 0; i < plan->kernels()->size(); ++i) TRY(load_kernel(state, *plan->kernels()->Get(i)));
  for (uint32_t i = 0; i < plan->calls()->size(); ++i)
    TRY(with_context(load_call(state, *plan->calls()->Get(i)), "halide: call {} of the region's plan", i));
  state.region.beside = find_calls_beside(state.region);
  return std::make_unique<RegionExecutable>(std::move(state.region));
}

RunBackend run_backend() { return {"halide", load}; }

}  // namespace intarsia::halide
