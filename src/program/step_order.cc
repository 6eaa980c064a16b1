#include "program/step_order.h"

#include <algorithm>
#include <optional>

namespace intarsia {
namespace {

/// The slot of a copy's end that is not in the host's memory; nothing: both are.
std::optional<uint32_t> slot_of_copy(const fbs::ProgramT& program, const fbs::FunctionT& function,
                                     const fbs::StepT& step) {
  for (uint32_t value : {step.outputs[0], step.inputs[0]}) {
    const uint32_t space = function.values[value]->space;
    if (space == host_space) continue;
    for (uint32_t slot = 0; slot < program.slots.size(); ++slot) {
      if (program.slots[slot]->space == space) return slot;
    }
  }
  return std::nullopt;
}

class Sequencer {
 public:
  Sequencer(std::span<const uint32_t> queues, const std::vector<std::vector<uint32_t>>& depends)
      : queues_(queues), depends_(depends), is_begun_(queues.size(), false) {}

  StepOrder order() {
    const size_t steps = queues_.size();
    order_.waits.resize(steps);
    order_.before.assign(steps, std::vector<bool>(steps, false));
    while (order_.sequence.size() < steps) begin(next());
    for (size_t i = 0; i < steps && !order_.overlaps; ++i) find_overlap(i);
    return std::move(order_);
  }

 private:
  bool is_ready(uint32_t step) const {
    return std::ranges::all_of(depends_[step], [&](uint32_t other) { return is_begun_[other]; });
  }

  /// The first on a queue whose predecessors have begun, else the first of the caller's.
  uint32_t next() const {
    uint32_t first = static_cast<uint32_t>(queues_.size());
    for (uint32_t step = 0; step < queues_.size(); ++step) {
      if (is_begun_[step]) continue;
      if (queues_[step] != callers_queue && is_ready(step)) return step;
      first = std::min(first, step);
    }
    return first;
  }

  void begin(uint32_t step) {
    const uint32_t queue = queues_[step];
    is_begun_[step] = true;
    // The one before in its queue; and what the caller did before it put the step there.
    for (uint32_t same : {queue, callers_queue}) {
      const auto last = std::ranges::find(order_.sequence.rbegin(), order_.sequence.rend(), same,
                                          [&](uint32_t other) { return queues_[other]; });
      if (last != order_.sequence.rend()) add_before(step, *last);
    }
    for (uint32_t other : depends_[step]) {
      if (order_.before[step][other]) continue;
      order_.waits[step].push_back(other);
      add_before(step, other);
    }
    order_.sequence.push_back(step);
  }

  void add_before(uint32_t step, uint32_t other) {
    std::vector<bool>& before = order_.before[step];
    const std::vector<bool>& earlier = order_.before[other];
    for (size_t i = 0; i < earlier.size(); ++i) {
      if (earlier[i]) before[i] = true;
    }
    before[other] = true;
  }

  /// Has the i-th step begun while another still may run?
  void find_overlap(size_t i) {
    const uint32_t step = order_.sequence[i];
    for (size_t j = 0; j < i; ++j) order_.overlaps |= !order_.before[step][order_.sequence[j]];
  }

  std::span<const uint32_t> queues_;
  const std::vector<std::vector<uint32_t>>& depends_;
  std::vector<bool> is_begun_;
  StepOrder order_;
};

}  // namespace

std::vector<uint32_t> assign_queues(const fbs::ProgramT& program, const fbs::FunctionT& function,
                                    std::span<const uint32_t> executor_of_slot) {
  std::optional<uint32_t> callers;  // slot
  for (const auto& step : function.steps) {
    if (step->kind != fbs::StepKind::run) continue;
    const uint32_t slot = program.regions[step->region]->slot;
    if (program.slots[slot]->space == host_space) callers = std::min(callers.value_or(slot), slot);
  }
  std::vector<uint32_t> queues;
  for (const auto& step : function.steps) {
    const bool is_run = step->kind == fbs::StepKind::run;
    const std::optional<uint32_t> slot =
        is_run ? program.regions[step->region]->slot : slot_of_copy(program, function, *step);
    if (!slot) {
      queues.push_back(callers_queue);
      continue;
    }
    const uint32_t executor = executor_of_slot[*slot];
    const bool is_callers = callers && executor == executor_of_slot[*callers];
    queues.push_back(is_callers ? callers_queue : 1 + 2 * executor + (is_run ? 0 : 1));
  }
  return queues;
}

std::vector<std::vector<uint32_t>> data_dependencies(const fbs::FunctionT& function) {
  std::vector<std::optional<uint32_t>> maker(function.values.size());
  std::vector<std::vector<uint32_t>> depends;
  for (uint32_t i = 0; i < function.steps.size(); ++i) {
    const fbs::StepT& step = *function.steps[i];
    std::vector<uint32_t>& before = depends.emplace_back(step.after);
    for (uint32_t input : step.inputs) {
      if (maker[input]) before.push_back(*maker[input]);
    }
    std::ranges::sort(before);
    before.erase(std::ranges::unique(before).begin(), before.end());
    for (uint32_t output : step.outputs) maker[output] = i;
  }
  return depends;
}

StepOrder order_steps(std::span<const uint32_t> queue_of_step,
                      const std::vector<std::vector<uint32_t>>& depends) {
  return Sequencer(queue_of_step, depends).order();
}

}  // namespace intarsia
