#include "backends/reference/plan_executable.h"

#include "backends/reference/kernel_call.h"

namespace intarsia::reference {
namespace {

/// Values of one run: a view each, and an owner if the memory was allocated while running.
struct RunState {
  std::vector<ConstTensorView> views;
  std::vector<std::shared_ptr<void>> owners;
};

class PlanExecutable : public Executable {
 public:
  PlanExecutable(RegionPlan plan, std::vector<KernelFunction> kernels, std::vector<ConstTensorView> constants)
      : plan_(std::move(plan)), kernels_(std::move(kernels)), constants_(std::move(constants)) {
    find_last_readers();
  }

  Status run(const RunContext& context) const override {
    if (context.inputs.size() != plan_.inputs.size() || context.outputs.size() != plan_.outputs.size()) {
      return fail("the region has {} inputs and {} outputs, got {} and {}", plan_.inputs.size(),
                  plan_.outputs.size(), context.inputs.size(), context.outputs.size());
    }
    RunState state = start(context);
    for (size_t i = 0; i < plan_.calls.size(); ++i) {
      const PlannedCall& call = plan_.calls[i];
      TRY(with_context(run_call(i, context, state), "node '{}' ({})", call.name, call.op));
      for (uint32_t value : released_after_[i]) state.owners[value].reset();
    }
    return finish(context, state);
  }

 private:
  /// Finds the last call that reads each dynamically shaped value, after which the value is dropped.
  void find_last_readers() {
    std::vector<size_t> last(plan_.values.size(), plan_.calls.size());
    for (size_t i = 0; i < plan_.calls.size(); ++i) {
      for (uint32_t value : plan_.calls[i].inputs) {
        if (value != left_out) last[value] = i;
      }
      for (uint32_t value : plan_.calls[i].outputs) {
        if (value != left_out) last[value] = i;
      }
    }
    released_after_.resize(plan_.calls.size());
    for (uint32_t value = 0; value < last.size(); ++value) {
      if (plan_.values[value].place == Place::dynamic && last[value] < plan_.calls.size()) {
        released_after_[last[value]].push_back(value);
      }
    }
  }

  RunState start(const RunContext& context) const {
    RunState state{std::vector<ConstTensorView>(plan_.values.size()), {}};
    state.owners.resize(plan_.values.size());
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      const PlannedValue& value = plan_.values[i];
      if (value.place == Place::input) state.views[i] = context.inputs[value.index].tensor;
      if (value.place == Place::constant) state.views[i] = constants_[value.index];
      if (value.place == Place::text) state.views[i] = value.text.view();
    }
    return state;
  }

  OutputSlot slot_of(uint32_t number, const RunContext& context) const {
    if (number == left_out) return {.wanted = false};
    const PlannedValue& value = plan_.values[number];
    if (value.place == Place::workspace) {
      return {.view = {context.workspace + value.offset, value.planned.dtype, value.planned.shape},
              .dynamic = false};
    }
    if (value.place == Place::output && !context.outputs[value.index].dynamic) {
      return {.view = context.outputs[value.index].tensor, .dynamic = false};
    }
    return {};
  }

  Status run_call(size_t i, const RunContext& context, RunState& state) const {
    const PlannedCall& call = plan_.calls[i];
    std::vector<const ConstTensorView*> inputs;
    for (uint32_t value : call.inputs) inputs.push_back(value == left_out ? nullptr : &state.views[value]);
    std::vector<OutputSlot> outputs;
    for (uint32_t value : call.outputs) outputs.push_back(slot_of(value, context));
    TRY(call_kernel(kernels_[i], call.attributes, call.version, inputs, outputs));
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].wanted) continue;
      state.views[call.outputs[k]] = std::move(outputs[k].view);
      state.owners[call.outputs[k]] = std::move(outputs[k].owner);
    }
    return {};
  }

  /// Hands over dynamic outputs; copies those that are an input, a constant or listed twice.
  Status finish(const RunContext& context, RunState& state) const {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const uint32_t number = plan_.outputs[i];
      const ConstTensorView& made = state.views[number];
      Output& output = context.outputs[i];
      const bool own = plan_.values[number].place == Place::output && plan_.values[number].index == i;
      if (output.dynamic) {
        // Memory that a call made starts where its owner points.
        const std::shared_ptr<void> memory = own ? state.owners[number] : Tensor(made).owner();
        output.tensor = {memory.get(), made.dtype, made.shape};
        output.owner = memory;
      } else if (!own) {
        if (output.tensor.dtype != made.dtype || output.tensor.shape != made.shape) {
          return fail("output '{}' is {} {}, want {} {}", plan_.values[number].name, dtype_name(made.dtype),
                      print_shape(made.shape), dtype_name(output.tensor.dtype),
                      print_shape(output.tensor.shape));
        }
        copy_elements(made, output.tensor);
      }
    }
    return {};
  }

  RegionPlan plan_;
  std::vector<KernelFunction> kernels_;  // indexed by call
  std::vector<ConstTensorView> constants_;
  std::vector<std::vector<uint32_t>>
      released_after_;  // indexed by call: dynamically shaped values that nothing reads afterward
};

}  // namespace

std::unique_ptr<Executable> make_plan_executable(RegionPlan plan, std::vector<KernelFunction> kernels,
                                                 std::vector<ConstTensorView> constants) {
  return std::make_unique<PlanExecutable>(std::move(plan), std::move(kernels), std::move(constants));
}

}  // namespace intarsia::reference
