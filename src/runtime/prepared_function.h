// A function ready to run: every pointer that is known before a run is filled in once, so that a run only
// patches the callers' buffers and walks the steps.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/bind_program.h"
#include "runtime/lanes.h"
#include "runtime/session.h"

namespace intarsia {

/// A value during a run: where it is now, and the step arguments that repeat it.
struct ValueState {
  const fbs::ValueT* about = nullptr;
  TensorView view;  // on the value's slot; data is null while a dynamically shaped value does not exist
  std::shared_ptr<void> owner;  // of a dynamically shaped value's memory
  std::vector<Input*> readers;
  Output* writer = nullptr;

  bool is_dynamic() const { return about->storage == fbs::Storage::dynamic; }
  bool is_opaque() const { return about->dtype == 0; }
  void set_data(void* data);
  /// Also the shape, dtype and owner.
  void set(const TensorView& tensor, std::shared_ptr<void> new_owner);
};

/// A step, ready to run.
struct PreparedStep {
  fbs::StepKind kind = fbs::StepKind::run;
  uint32_t region = 0;                     // run
  const Executable* executable = nullptr;  // run
  RunContext context;                      // run
  Device* device = nullptr;                // run: where; copy: of the source
  Device* target = nullptr;                // copy
  std::span<const uint32_t> inputs;        // values
  std::span<const uint32_t> outputs;
  bool writes_dynamic = false;
  TraceHook trace_kernel;  // set while the session is traced
};

class PreparedFunction {
 public:
  /// Everything given outlives this. `arenas`: one per slot, in the slot's memory.
  PreparedFunction(const BoundProgram& program, const fbs::FunctionT& function,
                   std::span<std::byte* const> arenas, ThreadTeam& threads);
  ~PreparedFunction();
  PreparedFunction(const PreparedFunction&) = delete;
  PreparedFunction& operator=(const PreparedFunction&) = delete;

  /// Once, before the first run. Fails when there is not enough memory.
  Status allocate_scratch();

  std::string_view name() const { return function_.name; }
  Status run(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs);
  void set_dump(DumpHook dump) { dump_ = std::move(dump); }
  void set_trace(const TraceCallback& trace);

 private:
  void prepare_value(ValueState& state, std::span<std::byte* const> arenas) const;
  void prepare_step(size_t number, std::span<std::byte* const> arenas);
  void share_threads(const StepSchedule& schedule);
  Status run_steps();
  Status run_step(size_t number);  // throws nothing
  Status do_step(size_t number);
  Status run_region(PreparedStep& step);
  Status run_copy(PreparedStep& step);
  Status take_dynamic(uint32_t value);
  std::string step_text(const PreparedStep& step) const;
  Status run_traced(PreparedStep& step);
  void dump_outputs(const PreparedStep& step);
  void drop_dynamic_values();

  const BoundProgram& program_;
  const fbs::FunctionT& function_;
  std::vector<ValueState> values_;
  std::vector<Input> inputs_;  // of all run steps, one after the other
  std::vector<Output> outputs_;
  std::vector<PreparedStep> steps_;
  /// Staging memory by destination slot, for sources outside the host's memory too. One lane uses each.
  std::vector<std::vector<std::byte>> staging_;
  std::unique_ptr<class ArgumentBinder> binder_;
  ThreadTeam& threads_;                                    // the caller's
  std::vector<std::unique_ptr<ThreadTeam>> lane_threads_;  // of lanes besides the caller's
  std::vector<std::shared_ptr<void>> scratch_;             // one for each team
  bool has_dynamic_ = false;
  DumpHook dump_;
  TraceCallback trace_;
  std::unique_ptr<Lanes>
      lanes_;  // null: steps run one after the other; declared last, so that its threads end first
};

}  // namespace intarsia
