#include "runtime/schedule_steps.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/shape.h"

namespace intarsia {
namespace {

/// Beyond this many steps there are too many pairs to check, and overlap adds little to what each step does.
constexpr size_t max_steps = 4096;

struct Range {
  uint32_t slot = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool overlaps(const Range& other) const {
    return slot == other.slot && begin < other.end && other.begin < end;
  }
};

/// What a step touches.
struct Footprint {
  std::vector<Range> reads;
  std::vector<Range> writes;
};

class Scheduler {
 public:
  Scheduler(const BoundProgram& program, const fbs::FunctionT& function)
      : program_(program), function_(function) {}

  StepSchedule schedule() {
    const size_t steps = function_.steps.size();
    assign_lanes();
    if (schedule_.lanes.size() < 2 || steps > max_steps) return {};
    for (const auto& step : function_.steps) footprints_.push_back(footprint(*step));
    std::vector<std::vector<bool>> before(steps, std::vector<bool>(steps, false));  // transitive
    std::vector<uint32_t> last_of_lane(schedule_.lanes.size(), none);
    schedule_.waits.resize(steps);
    for (uint32_t step = 0; step < steps; ++step) {
      uint32_t& last = last_of_lane[lane_[step]];
      if (last != none) add_before(before, step, last);
      last = step;
      for (uint32_t other = step; other-- > 0;) {
        if (before[step][other] || !depends(step, other)) continue;
        schedule_.waits[step].push_back(other);
        add_before(before, step, other);
      }
      for (uint32_t other = 0; other < step; ++other) {
        schedule_.overlaps |= lane_[other] != lane_[step] && !before[step][other];
      }
    }
    return schedule_;
  }

 private:
  static constexpr uint32_t none = 0xffffffff;
  const BoundProgram& program_;
  const fbs::FunctionT& function_;
  StepSchedule schedule_;
  std::vector<size_t> lane_;
  std::vector<Footprint> footprints_;

  const Device* device_of(uint32_t value) const {
    return program_.devices[function_.values[value]->slot].get();
  }

  /// Null: the host.
  const Device* lane_device(const fbs::StepT& step) const {
    const Device* device = nullptr;
    if (step.kind == fbs::StepKind::run) {
      device = program_.devices[program_.description().regions[step.region]->slot].get();
    } else {
      device = device_of(step.outputs[0]);
      if (device->in_host_memory()) device = device_of(step.inputs[0]);
    }
    return device->in_host_memory() ? nullptr : device;
  }

  void assign_lanes() {
    std::vector<const Device*> devices = {nullptr};
    schedule_.lanes.resize(1);
    for (uint32_t i = 0; i < function_.steps.size(); ++i) {
      const Device* device = lane_device(*function_.steps[i]);
      const auto lane = static_cast<size_t>(std::ranges::find(devices, device) - devices.begin());
      if (lane == devices.size()) {
        devices.push_back(device);
        schedule_.lanes.emplace_back();
      }
      lane_.push_back(lane);
      schedule_.lanes[lane].push_back(i);
    }
  }

  void add_range(std::vector<Range>& ranges, uint32_t id) const {
    const fbs::ValueT& value = *function_.values[id];
    if (value.storage != fbs::Storage::arena) return;
    const uint64_t bytes =
        dtype_bytes(static_cast<DType>(value.dtype), static_cast<size_t>(element_count(value.dims)));
    ranges.push_back({value.slot, value.offset, value.offset + bytes});
  }

  Footprint footprint(const fbs::StepT& step) const {
    Footprint footprint;
    for (uint32_t id : step.inputs) add_range(footprint.reads, id);
    for (uint32_t id : step.outputs) add_range(footprint.writes, id);
    if (step.kind == fbs::StepKind::run) {
      const fbs::RegionT& region = *program_.description().regions[step.region];
      footprint.writes.push_back(
          {region.slot, step.workspace_offset, step.workspace_offset + region.workspace_bytes});
    }
    return footprint;
  }

  static bool any_overlap(const std::vector<Range>& some, const std::vector<Range>& others) {
    return std::ranges::any_of(some, [&](const Range& one) {
      return std::ranges::any_of(others, [&](const Range& other) { return one.overlaps(other); });
    });
  }

  bool depends(uint32_t later, uint32_t earlier) const {
    const fbs::StepT& step = *function_.steps[later];
    if (std::ranges::find(step.after, earlier) != step.after.end()) return true;
    for (uint32_t written : function_.steps[earlier]->outputs) {
      if (std::ranges::find(step.inputs, written) != step.inputs.end()) return true;
    }
    const Footprint &now = footprints_[later], &then = footprints_[earlier];
    return any_overlap(now.writes, then.writes) || any_overlap(now.writes, then.reads) ||
           any_overlap(now.reads, then.writes);
  }

  static void add_before(std::vector<std::vector<bool>>& before, uint32_t step, uint32_t other) {
    for (uint32_t i = 0; i < other; ++i) {
      if (before[other][i]) before[step][i] = true;
    }
    before[step][other] = true;
  }
};

}  // namespace

StepSchedule schedule_steps(const BoundProgram& program, const fbs::FunctionT& function) {
  return Scheduler(program, function).schedule();
}

}  // namespace intarsia
