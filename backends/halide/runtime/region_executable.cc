#include "backends/halide/runtime/region_executable.h"

#include <algorithm>
#include <limits>

namespace intarsia::halide {

Status RegionExecutable::check_counts(const RunContext& context) const {
  if (context.inputs.size() != code_.input_bytes.size() ||
      context.outputs.size() != code_.output_bytes.size())
    return fail("halide: the region takes {} inputs and {} outputs, got {} and {}", code_.input_bytes.size(),
                code_.output_bytes.size(), context.inputs.size(), context.outputs.size());
  return {};
}

Status RegionExecutable::check_input(const RunContext& context, size_t number) const {
  const Input& input = context.inputs[number];
  const uint64_t bytes = code_.input_bytes[number];
  if (is_there(input, bytes) && input.tensor.bytes() >= bytes) return {};
  return fail("halide: input {} has {} bytes, the region reads {}", number, input.tensor.bytes(), bytes);
}

Status RegionExecutable::check(const RunContext& context) const {
  TRY(check_counts(context));
  for (size_t i = 0; i < code_.input_bytes.size(); ++i) TRY(check_input(context, i));
  for (size_t i = 0; i < code_.output_bytes.size(); ++i)
    if (context.outputs[i].dynamic || !is_there(context.outputs[i], code_.output_bytes[i]) ||
        context.outputs[i].tensor.bytes() < code_.output_bytes[i])
      return fail("halide: output {} has {} bytes, the region writes {}", i,
                  context.outputs[i].tensor.bytes(), code_.output_bytes[i]);
  return {};
}

uint8_t* RegionExecutable::address(const BufferPlan& buffer, const RunContext& context, size_t item) const {
  const void* start = buffer.constant.memory;
  if (buffer.where == BufferPlan::Where::input) start = context.inputs[buffer.index].tensor.data;
  if (buffer.where == BufferPlan::Where::output) start = context.outputs[buffer.index].tensor.data;
  if (buffer.where == BufferPlan::Where::workspace) start = context.workspace;
  // The interface has no const; a kernel writes only its output, which lies in neither a constant nor, unless
  // the region appends to it, an input.
  return static_cast<uint8_t*>(const_cast<void*>(start)) + bytes_to_item(buffer, item) + buffer.offset;
}

namespace {

Status check_indices(const CallPlan& call, const HalideBuffer* buffers) {
  for (const IndexCheckPlan& check : call.checks) {
    const HalideBuffer& buffer = buffers[check.argument];
    if (const auto bad = find_bad_index(check, buffer.host, buffer.type.bits))
      return fail("index {} of its input {} is out of range {} to {}", *bad, check.argument, check.range.low,
                  check.range.high);
  }
  return {};
}

/// Checks whether a copy would write each element where it read it.
bool is_in_place(const CallPlan& call, const HalideBuffer* buffers) {
  if (!call.is_copy || call.buffers.size() != 2) return false;
  const HalideBuffer &from = buffers[0], &to = buffers[1];
  bool is_same = from.host == to.host && from.type.code == to.type.code && from.type.bits == to.type.bits &&
                 from.dimensions == to.dimensions &&
                 (call.times == 1 || call.steps.empty() || call.steps[0] == call.steps[1]);
  for (int32_t i = 0; is_same && i < from.dimensions; ++i)
    is_same = from.dim[i].extent == to.dim[i].extent &&
              (from.dim[i].extent == 1 || from.dim[i].stride == to.dim[i].stride);
  return is_same;
}

/// Runs a call as often as it is repeated; stops at the first run that fails.
Status repeat(const CallPlan& call, HalideBuffer* buffers, void** arguments, const KernelRuntime& runtime) {
  for (uint32_t time = 0; time < call.times; ++time) {
    for (size_t i = 0; i < call.steps.size() && time > 0; ++i) buffers[i].host += call.steps[i];
    TRY(check_indices(call, buffers));
    const int status = call.kernel(arguments);
    if (status != 0) return fail("status {}: {}", status, runtime.message());
    // Kernels without checks ignore the status of a function that they call.
    if (runtime.has_message()) return fail("{}", runtime.message());
  }
  return {};
}

}  // namespace

/// Returns the number of seats beyond those that the workspace has scratch for.
size_t RegionExecutable::more_workers(int threads) const {
  const auto all = static_cast<size_t>(threads);
  return all > code_.workers ? all - code_.workers : 0;
}

size_t RegionExecutable::scratch_bytes(int threads) const {
  const size_t slices = more_workers(threads) * code_.scratch_bytes;
  return code_.input_moves ? std::max(slices, static_cast<size_t>(threads - 1) * item_workspace_bytes())
                           : slices;
}

bool RegionExecutable::appends(size_t input, size_t output) const {
  return code_.device == KernelDevice::cpu && std::ranges::any_of(code_.calls, [&](const CallPlan& call) {
           if (!call.is_copy || call.buffers.size() != 2) return false;
           const BufferPlan &from = code_.buffers[call.buffers[0]], &to = code_.buffers[call.buffers[1]];
           return from.where == BufferPlan::Where::input && from.index == input && from.offset == 0 &&
                  to.where == BufferPlan::Where::output && to.index == output && to.offset == 0;
         });
}

Status RegionExecutable::run(const RunContext& context) const {
  if (code_.input_moves) return run_items(context);
  if (Status sizes = check(context); !sizes) return sizes;
  return run_calls(context, 0);
}

Status RegionExecutable::run_calls(const RunContext& context, size_t item) const {
  if (code_.device != KernelDevice::cpu) return run_on_device(context, item);
  const int threads = context.threads != nullptr ? context.threads->size() : 1;
  KernelRuntime runtime(context.threads, code_.scratch_bytes,
                        {context.workspace + code_.scratch_offset, 0, code_.workers},
                        {context.scratch, code_.workers, context.scratch ? more_workers(threads) : 0});
  return run_on_host(context, item, runtime);
}

/// Returns the bytes from an argument of the first item to that of another one.
uint64_t RegionExecutable::bytes_to_item(const BufferPlan& buffer, size_t item) const {
  if (item == 0) return 0;
  if (buffer.where == BufferPlan::Where::output) return item * code_.output_bytes[buffer.index];
  const bool moves = buffer.where == BufferPlan::Where::input && (*code_.input_moves)[buffer.index];
  return moves ? item * code_.input_bytes[buffer.index] : 0;
}

Status RegionExecutable::run_call(const RunContext& context, size_t item, KernelRuntime& runtime,
                                  size_t number) const {
  const CallPlan& call = code_.calls[number];
  HalideBuffer buffers[max_arguments];
  void* arguments[max_arguments + max_sizes + 1];
  void* user_context = runtime.table();
  arguments[0] = &user_context;
  void** next = arguments + 1;
  for (size_t i = 0; i < call.buffers.size(); ++i) {
    if (i + 1 == call.buffers.size())
      for (const int32_t& size : call.sizes) *next++ = const_cast<int32_t*>(&size);
    const BufferPlan& plan = code_.buffers[call.buffers[i]];
    buffers[i] = {0,
                  nullptr,
                  address(plan, context, item),
                  0,
                  plan.type,
                  static_cast<int32_t>(plan.dimensions.size()),
                  plan.dimensions.data(),
                  nullptr};
    *next++ = &buffers[i];
  }
  const int64_t begin = context.trace != nullptr ? clock_nanoseconds() : 0;
  // A trace has the copies that are left out, too: notes about kernels are in the order of all calls.
  if (!is_in_place(call, buffers))
    TRY(with_context(repeat(call, buffers, arguments, runtime), "halide: kernel {} ({})", number,
                     call.label));
  if (context.trace != nullptr) (*context.trace)(call.label, begin, clock_nanoseconds());
  return {};
}

/// Runs the first of the calls in one thread, and those after it in another: two threads that share each of
/// many short runs would wait for one another in all of them.
Status RegionExecutable::run_beside(const RunContext& context, size_t item, KernelRuntime& runtime,
                                    const CallsBeside& calls) const {
  struct Sides {
    const RegionExecutable& region;
    const RunContext& context;
    size_t item;
    KernelRuntime& runtime;
    const CallsBeside& calls;
    Status status[2] = {};

    Status run(size_t from, size_t to) const {
      for (size_t call = from; call <= to; ++call) TRY(region.run_call(context, item, runtime, call));
      return {};
    }
  } sides{*this, context, item, runtime, calls};
  const auto run_side = [](void* data, int side, int) {
    Sides& sides = *static_cast<Sides*>(data);
    const auto [call, last] = sides.calls;
    sides.status[side] = side == 0 ? sides.run(call, call) : sides.run(call + 1, last);
    return 0;
  };
  context.threads->parallel_for(2, run_side, &sides);
  TRY(std::move(sides.status[0]));
  return std::move(sides.status[1]);
}

/// Runs the calls in order; with two threads, those beside one another at the same time, unless a trace wants
/// them one after the other.
Status RegionExecutable::run_on_host(const RunContext& context, size_t item, KernelRuntime& runtime) const {
  auto beside = code_.beside.begin();
  if (context.threads == nullptr || context.threads->size() != 2 || context.trace != nullptr)
    beside = code_.beside.end();
  for (size_t call = 0; call < code_.calls.size(); ++call) {
    if (beside == code_.beside.end() || beside->call != call) {
      TRY(run_call(context, item, runtime, call));
      continue;
    }
    TRY(run_beside(context, item, runtime, *beside));
    call = beside++->last;
  }
  return {};
}

namespace {

/// Returns where an argument lies, without its own offset.
Place start_of(const BufferPlan& buffer, const RunContext& context) {
  switch (buffer.where) {
    case BufferPlan::Where::input:
      return context.inputs[buffer.index].place;
    case BufferPlan::Where::output:
      return context.outputs[buffer.index].place;
    case BufferPlan::Where::workspace:
      return context.workspace_place;
    case BufferPlan::Where::constant:
      break;
  }
  return buffer.constant;
}

/// Argument of a kernel on a device: its memory from the start, and an axis that says where it lies.
struct DeviceArgument {
  HalideBuffer buffer;
  std::array<HalideDimension, max_dimensions + 1> axes;

  /// Sets the argument. `start` is the start of what it lies in; `moved` are the bytes from its place in the
  /// plan.
  Status set(const BufferPlan& plan, const Place& start, int64_t moved) {
    const size_t rank = plan.dimensions.size(), element = plan.type.bits / 8;
    const size_t offset = (start.offset + plan.offset + static_cast<size_t>(moved)) / element;
    size_t reach = 1;
    for (size_t i = 0; i < rank; ++i) {
      axes[i] = plan.dimensions[i];
      reach += static_cast<size_t>(std::max(axes[i].extent - 1, 0)) * static_cast<size_t>(axes[i].stride);
    }
    if (offset + reach > std::numeric_limits<int32_t>::max())
      return fail(ErrorKind::unsupported,
                  "an argument ends at element {} of its memory; a kernel reaches 2^31", offset + reach);
    axes[rank] = {0, static_cast<int32_t>(offset + 1), 1, 0};
    buffer = {reinterpret_cast<uint64_t>(start.memory), nullptr,     nullptr, 0, plan.type,
              static_cast<int32_t>(rank + 1),           axes.data(), nullptr};
    return {};
  }
};

/// Caller of kernels whose code launches work items.
class DeviceCaller {
 public:
  DeviceCaller(const RegionCode& code, Launcher* launcher) : code_(code), runtime_(launcher) {}

  /// Launches run number `time` of a call. `place_of` tells where an argument's tensor or buffer lies.
  template <typename PlaceOf>
  Status launch(const CallPlan& call, const PlaceOf& place_of, uint32_t time) {
    void* user_context = runtime_.table();
    arguments_[0] = &user_context;
    void** next = arguments_.data() + 1;
    for (size_t i = 0; i < call.buffers.size(); ++i) {
      const BufferPlan& plan = code_.buffers[call.buffers[i]];
      TRY(buffers_[i].set(plan, place_of(plan), call.steps.empty() ? 0 : call.steps[i] * time));
      if (i + 1 == call.buffers.size())
        for (const int32_t& size : call.sizes) *next++ = const_cast<int32_t*>(&size);
      *next++ = &buffers_[i].buffer;
    }
    call.kernel(arguments_.data());
    return runtime_.launched();
  }

 private:
  const RegionCode& code_;
  KernelRuntime runtime_;
  std::array<DeviceArgument, max_arguments> buffers_;
  std::array<void*, max_arguments + max_sizes + 1> arguments_;
};

}  // namespace

Status RegionExecutable::run_on_device(const RunContext& context, size_t item) const {
  DeviceCaller caller(code_, context.launcher);
  const auto place_of = [&](const BufferPlan& buffer) {
    Place place = start_of(buffer, context);
    place.offset += bytes_to_item(buffer, item);
    return place;
  };
  for (size_t c = 0; c < code_.calls.size(); ++c) {
    const CallPlan& call = code_.calls[c];
    for (uint32_t time = 0; time < call.times; ++time)
      TRY(with_context(caller.launch(call, place_of, time), "halide: kernel {} ({})", c, call.label));
    if (context.trace == nullptr) continue;
    const TimeSpan ran =
        TRY(with_context(context.launcher->wait_timed(), "halide: kernel {} ({})", c, call.label));
    (*context.trace)(call.label, ran.begin_ns, ran.end_ns);
  }
  return {};
}

Status RegionExecutable::prepare(Launcher& launcher) const {
  if (code_.device == KernelDevice::cpu) return {};
  DeviceCaller caller(code_, &launcher);
  const auto nowhere = [](const BufferPlan&) { return Place(); };
  for (size_t c = 0; c < code_.calls.size(); ++c)
    TRY(with_context(caller.launch(code_.calls[c], nowhere, 0), "halide: kernel {} ({})", c,
                     code_.calls[c].label));
  return {};
}

}  // namespace intarsia::halide
