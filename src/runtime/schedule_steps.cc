#include "runtime/schedule_steps.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/shape.h"

namespace intarsia {
namespace {

struct Range {
  uint32_t space = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool overlaps(const Range& other) const {
    return space == other.space && begin < other.end && other.begin < end;
  }
};

/// Ranges of arenas that a step touches.
struct Footprint {
  std::vector<Range> reads;
  std::vector<Range> writes;
};

void add_range(std::vector<Range>& ranges, const fbs::ValueT& value) {
  if (value.storage != fbs::Storage::arena) return;
  const uint64_t bytes =
      dtype_bytes(static_cast<DType>(value.dtype), static_cast<size_t>(element_count(value.dims)));
  ranges.push_back({value.space, value.offset, value.offset + bytes});
}

Footprint footprint(const fbs::ProgramT& program, const fbs::FunctionT& function, const fbs::StepT& step) {
  Footprint footprint;
  for (uint32_t id : step.inputs) add_range(footprint.reads, *function.values[id]);
  for (uint32_t id : step.outputs) add_range(footprint.writes, *function.values[id]);
  if (step.kind == fbs::StepKind::run) {
    const fbs::RegionT& region = *program.regions[step.region];
    footprint.writes.push_back({program.slots[region.slot]->space, step.workspace_offset,
                                step.workspace_offset + region.workspace_bytes});
  }
  return footprint;
}

bool any_overlap(const std::vector<Range>& some, const std::vector<Range>& others) {
  return std::ranges::any_of(some, [&](const Range& one) {
    return std::ranges::any_of(others, [&](const Range& other) { return one.overlaps(other); });
  });
}

/// Adds the steps that a step must not overtake because they use its memory.
void add_memory_dependencies(const fbs::ProgramT& program, const fbs::FunctionT& function,
                             std::vector<std::vector<uint32_t>>& depends) {
  std::vector<Footprint> footprints;
  for (const auto& step : function.steps) footprints.push_back(footprint(program, function, *step));
  for (uint32_t step = 0; step < footprints.size(); ++step) {
    const Footprint& now = footprints[step];
    for (uint32_t other = 0; other < step; ++other) {
      const Footprint& then = footprints[other];
      if (any_overlap(now.writes, then.writes) || any_overlap(now.writes, then.reads) ||
          any_overlap(now.reads, then.writes))
        depends[step].push_back(other);
    }
  }
}

/// Numbers the executors of the slots; slots that are bound to one device share its number.
std::vector<uint32_t> number_executors(const BoundProgram& program) {
  std::vector<uint32_t> numbers;
  for (const auto& executor : program.executors)
    numbers.push_back(
        static_cast<uint32_t>(std::ranges::find(program.executors, executor) - program.executors.begin()));
  return numbers;
}

}  // namespace

StepSchedule schedule_steps(const BoundProgram& program, const fbs::FunctionT& function) {
  StepSchedule schedule{std::vector<Queue*>(function.steps.size(), nullptr), {}};
  const std::vector<uint32_t> queues =
      assign_queues(program.description(), function, number_executors(program));
  const bool is_one = std::ranges::all_of(queues, [](uint32_t queue) { return queue == callers_queue; });
  if (is_one || queues.size() > max_overlapping_steps) return schedule;
  std::vector<std::vector<uint32_t>> depends = data_dependencies(function);
  add_memory_dependencies(program.description(), function, depends);
  StepOrder order = order_steps(queues, depends);
  if (!order.overlaps) return schedule;
  schedule.order = std::move(order);
  for (size_t step = 0; step < queues.size(); ++step) {
    if (queues[step] == callers_queue) continue;
    Executor& executor = *program.executors[(queues[step] - 1) / 2];
    schedule.queues[step] = queues[step] % 2 == 1 ? &executor.compute_queue() : &executor.copy_queue();
  }
  return schedule;
}

}  // namespace intarsia
