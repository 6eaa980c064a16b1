#include "program/step_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace intarsia {
namespace {

/// Finds the slot of a copy's end that is not in the host's memory; nullopt if both are.
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

  std::vector<uint32_t> sequence() {
    std::vector<uint32_t> sequence;
    while (sequence.size() < queues_.size()) {
      sequence.push_back(next());
      is_begun_[sequence.back()] = true;
    }
    return sequence;
  }

 private:
  bool is_ready(uint32_t step) const {
    return std::ranges::all_of(depends_[step], [&](uint32_t other) { return is_begun_[other]; });
  }

  /// Returns the first step on a queue whose predecessors have started, else the caller's first.
  uint32_t next() const {
    uint32_t first = static_cast<uint32_t>(queues_.size());
    for (uint32_t step = 0; step < queues_.size(); ++step) {
      if (is_begun_[step]) continue;
      if (queues_[step] != callers_queue && is_ready(step)) return step;
      first = std::min(first, step);
    }
    return first;
  }

  std::span<const uint32_t> queues_;
  const std::vector<std::vector<uint32_t>>& depends_;
  std::vector<bool> is_begun_;
};

void add_before(StepOrder& order, uint32_t step, uint32_t other) {
  std::vector<bool>& before = order.before[step];
  const std::vector<bool>& earlier = order.before[other];
  for (size_t i = 0; i < other; ++i) {
    if (earlier[i]) before[i] = true;
  }
  before[other] = true;
}

}  // namespace

std::vector<uint32_t> assign_queues(const fbs::ProgramT& program, const fbs::FunctionT& function,
                                    std::span<const uint32_t> executor_of_slot) {
  std::optional<uint32_t> callers;  // slot of the caller's queue
  for (const auto& step : function.steps) {
    if (step->kind != fbs::StepKind::run) continue;
    const uint32_t slot = program.regions[step->region]->slot;
    if (program.slots[slot]->space == host_space) callers = std::min(callers.value_or(slot), slot);
  }
  std::vector<uint32_t> queues;
  for (const auto& step : function.steps) {
    const bool is_run = step->kind == fbs::StepKind::run;
    const std::optional<uint32_t> slot = is_run              ? program.regions[step->region]->slot
                                         : has_bodies(*step) ? std::nullopt
                                                             : slot_of_copy(program, function, *step);
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

std::vector<uint32_t> sequence_steps(std::span<const uint32_t> queue_of_step,
                                     const std::vector<std::vector<uint32_t>>& depends) {
  return Sequencer(queue_of_step, depends).sequence();
}

StepOrder order_steps(std::span<const uint32_t> queue_of_step,
                      const std::vector<std::vector<uint32_t>>& depends) {
  const auto steps = static_cast<uint32_t>(queue_of_step.size());
  StepOrder order{std::vector<std::vector<uint32_t>>(steps),
                  std::vector<std::vector<bool>>(steps, std::vector<bool>(steps)), false};
  std::map<uint32_t, uint32_t> last;  // last step so far of each queue
  for (uint32_t step = 0; step < steps; ++step) {
    const auto [at, is_first] = last.try_emplace(queue_of_step[step], step);
    if (!is_first) add_before(order, step, std::exchange(at->second, step));
    for (uint32_t other : depends[step]) {
      if (order.before[step][other]) continue;
      order.waits[step].push_back(other);
      add_before(order, step, other);
    }
    for (uint32_t other = 0; other < step; ++other) order.overlaps |= !order.before[step][other];
  }
  return order;
}

bool are_alive_at_once(std::span<const uint32_t> one, std::span<const uint32_t> other,
                       const StepOrder& order) {
  if (!order.overlaps) return one.front() <= other.back() && other.front() <= one.back();
  const auto is_dead_before = [&](std::span<const uint32_t> steps, uint32_t maker) {
    return std::ranges::all_of(steps, [&](uint32_t step) { return order.before[maker][step]; });
  };
  return !is_dead_before(one, other.front()) && !is_dead_before(other, one.front());
}

}  // namespace intarsia
