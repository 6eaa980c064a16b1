// Runs of a region that is repeated for each item of a batch.
#include <algorithm>
#include <limits>
#include <mutex>

#include "backends/halide/runtime/region_executable.h"

namespace intarsia::halide {

Result<size_t> RegionExecutable::count_items(const RunContext& context) const {
  std::optional<size_t> items;
  for (size_t i = 0; i < code_.input_bytes.size(); ++i) {
    if (!(*code_.input_moves)[i]) continue;
    const size_t bytes = context.inputs[i].tensor.bytes(), each = code_.input_bytes[i];
    if (bytes % each != 0 || (items && *items != bytes / each))
      return fail("halide: input {} has {} bytes, where an item has {}{}", i, bytes, each,
                  items ? fmt::format(" and others have {} items", *items) : "");
    items = bytes / each;
  }
  return items.value_or(0);
}

/// Checks an output against the number of items; allocates it if the caller has no memory for it.
Status RegionExecutable::take_output(const RunContext& context, size_t number, size_t items) const {
  const TensorView& each = code_.item_outputs[number];
  Output& output = context.outputs[number];
  if (output.dynamic && code_.device != KernelDevice::cpu)
    return fail("halide: output {} has no memory on the device", number);
  if (!output.dynamic) {
    const Shape& shape = output.tensor.shape;
    const bool fits = shape.size() == each.shape.size() &&
                      std::equal(shape.begin() + 1, shape.end(), each.shape.begin() + 1) &&
                      shape[0] == each.shape[0] * static_cast<int64_t>(items);
    if (fits && is_there(output, items * code_.output_bytes[number])) return {};
    return fail("halide: output {} has shape {}, want {} for each of {} items", number, print_shape(shape),
                print_shape(each.shape), items);
  }
  Shape shape = each.shape;
  shape[0] *= static_cast<int64_t>(items);
  TRY(with_context(checked_elements(shape), "halide: output {}", number));
  const Tensor made(each.dtype, std::move(shape));
  output.tensor = made.view();
  output.owner = made.owner();
  return {};
}

/// Returns the bytes of a workspace for one thread, which begins where caches' lines do.
size_t RegionExecutable::item_workspace_bytes() const { return (code_.workspace_bytes + 63) / 64 * 64; }

/// Runs the region on an item in the calling thread. The first seat works in the region's workspace, each
/// other one in a workspace of its own.
Status RegionExecutable::run_in_seat(const RunContext& context, size_t item, size_t seat) const {
  RunContext here = context;
  here.threads = nullptr;
  if (seat > 0) here.workspace = context.scratch + (seat - 1) * item_workspace_bytes();
  KernelRuntime runtime(nullptr, code_.scratch_bytes, {here.workspace + code_.scratch_offset, seat, 1});
  return run_on_host(here, item, runtime);
}

bool RegionExecutable::can_run_at_once(const RunContext& context, size_t items) const {
  const bool has_room = context.scratch != nullptr || item_workspace_bytes() == 0;
  return code_.device == KernelDevice::cpu && context.threads != nullptr && context.trace == nullptr &&
         has_room && items <= std::numeric_limits<int>::max();
}

/// Runs the region on the first `items` items, each of them in one thread: unlike all threads on one item,
/// they do not wait for one another.
Status RegionExecutable::run_items_at_once(const RunContext& context, size_t items) const {
  struct Loop {
    const RegionExecutable& region;
    const RunContext& context;
    std::mutex mutex = {};
    Status failed = {};  // guarded by the mutex
  } loop{*this, context};
  const auto run_one = [](void* data, int item, int seat) {
    Loop& loop = *static_cast<Loop*>(data);
    Status ran = loop.region.run_in_seat(loop.context, static_cast<size_t>(item), static_cast<size_t>(seat));
    if (ran) return 0;
    const std::lock_guard lock(loop.mutex);
    loop.failed = with_context(std::move(ran), "item {}", item);
    return 1;
  };
  context.threads->parallel_for(static_cast<int>(items), run_one, &loop);
  return loop.failed;
}

/// Runs the region on each item: as many at once as there are threads, and those that are left in all
/// threads. A trace, whose hook is called by one thread at a time, gets all of them one after the other.
Status RegionExecutable::run_items(const RunContext& context) const {
  TRY(check_counts(context));
  const size_t items = TRY(count_items(context));
  for (size_t i = 0; i < code_.output_bytes.size(); ++i) TRY(take_output(context, i, items));
  if (items == 0) return {};
  for (size_t i = 0; i < code_.input_bytes.size(); ++i) TRY(check_input(context, i));
  size_t item = 0;
  if (can_run_at_once(context, items)) {
    item = items - items % static_cast<size_t>(context.threads->size());
    TRY(run_items_at_once(context, item));
  }
  for (; item < items; ++item) TRY(with_context(run_calls(context, item), "item {}", item));
  return {};
}

}  // namespace intarsia::halide
