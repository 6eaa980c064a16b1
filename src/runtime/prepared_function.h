// Functions ready to run: everything that is known before a run is filled in once, so that a run only
// patches the callers' buffers and walks the steps.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/bind_program.h"
#include "runtime/open_arenas.h"
#include "runtime/schedule_steps.h"
#include "runtime/session.h"
#include "runtime/size_plan.h"

namespace intarsia {

class BodyStep;

/// Threads for parallel loops, by the queue that calls them (null: the caller) and their cores.
using ThreadTeams = std::map<std::pair<const Queue*, const CoreSet*>, std::shared_ptr<ThreadTeam>>;

/// Value during a run: where it is, and the step arguments that repeat it.
struct ValueState {
  const fbs::ValueT* about = nullptr;
  /// View that executables in its space use; without data while a dynamically shaped value does not exist.
  TensorView view;
  Place place;                  // place of a value outside the host's memory
  std::shared_ptr<void> owner;  // owner of a dynamically shaped value's memory
  std::vector<Input*> readers;
  Output* writer = nullptr;

  bool is_dynamic() const { return about->storage == fbs::Storage::dynamic; }
  /// Whether its size is the same in all runs.
  bool is_fixed() const {
    return !about->rank_unknown && std::ranges::find(about->dims, -1) == about->dims.end();
  }
  bool is_opaque() const { return about->dtype == 0; }
  bool is_on_host() const { return about->space == host_space; }
  /// Returns the place that copies use.
  Place source() const { return is_on_host() ? Place{view.data, 0} : place; }
  void set_data(void* data);
  void set_shape(const Shape& shape);
  void set_place(void* data, const Place& there);
  /// Sets the data, shape, dtype, place and owner.
  void set(const TensorView& tensor, const Place& there, std::shared_ptr<void> new_owner);
};

/// Step that is ready to run.
struct PreparedStep {
  fbs::StepKind kind = fbs::StepKind::run;
  uint32_t region = 0;                     // run, branch, loop
  const Executable* executable = nullptr;  // run
  RunContext context;                      // run
  Executor* executor = nullptr;            // run: where; copy: at the end outside the host's memory
  MemorySpace* from = nullptr;             // copy
  MemorySpace* to = nullptr;               // copy
  std::span<const uint32_t> inputs;        // values
  std::span<const uint32_t> outputs;
  bool writes_dynamic = false;
  TraceHook trace_kernel;            // set while the session is traced
  const CoreSet* cores = nullptr;    // cores that the caller moves to for it; null: it stays
  std::shared_ptr<BodyStep> bodies;  // branch, loop
};

/// Step of a function whose steps run at the same time.
struct BesideStep {
  Queue* queue = nullptr;  // null: the caller runs it
  std::unique_ptr<Task> task;
  Status status;  // result of the last run
};

class PreparedFunction {
 public:
  /// Prepares a function; everything given but `teams` must outlive it. `arenas` has one entry per space;
  /// `teams` are those of a caller that it runs within. Fails when there is not enough memory; throws
  /// std::system_error when threads cannot start.
  static Result<std::unique_ptr<PreparedFunction>> make(const BoundProgram& program,
                                                        const fbs::FunctionT& function,
                                                        std::span<const Memory> arenas,
                                                        OpenArenas& open_arenas, ThreadTeams teams = {});
  ~PreparedFunction();
  PreparedFunction(const PreparedFunction&) = delete;
  PreparedFunction& operator=(const PreparedFunction&) = delete;

  std::string_view name() const { return function_.name; }
  /// Returns the sizes, by symbol, that the inputs tell. Errors: those that run() has for them.
  Result<std::span<const int64_t>> find_sizes(std::span<const NamedTensor> inputs);
  /// Lets the buffer of an output that continues an input begin at the input's address, from the next run on.
  void append_in_place();
  Status run(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs);
  void set_dump(const DumpHook& dump);
  void set_trace(const TraceCallback& trace, bool is_profile);

 private:
  PreparedFunction(const BoundProgram& program, const fbs::FunctionT& function,
                   std::span<const Memory> arenas, OpenArenas& open_arenas, ThreadTeams teams);
  void prepare_value(ValueState& state) const;
  void prepare_step(size_t number);
  void prepare_copy(PreparedStep& step);
  void prepare_run(PreparedStep& step, const fbs::StepT& about);
  void prepare_tasks(const StepSchedule& schedule);
  void share_threads();
  bool can_append(uint32_t output) const;
  Status prepare_bodies();
  Status allocate_scratch();
  Status allocate_staging();
  void reserve_largest();

  Status apply_sizes();

  Status run_steps();
  Status run_in_sequence();
  Status run_beside();
  void run_task(size_t number);
  Status run_step(PreparedStep& step);  // throws nothing
  Status do_step(PreparedStep& step);
  Status run_on_its_cores(PreparedStep& step);
  Status run_region(PreparedStep& step);
  /// Runs a step of any kind; `ran`: as in run_copy().
  Status run_untraced(PreparedStep& step, TimeSpan* ran = nullptr);
  /// Runs a copy; MemorySpace::upload() explains `ran`.
  Status run_copy(PreparedStep& step, TimeSpan* ran = nullptr);
  Status make_target(PreparedStep& step, const ValueState& from, ValueState& to);
  Status take_dynamic(uint32_t value);
  std::string step_text(const PreparedStep& step) const;
  Status run_traced(PreparedStep& step);
  void dump_outputs(const PreparedStep& step);
  void drop_dynamic_values();

  const BoundProgram& program_;
  const fbs::FunctionT& function_;
  std::span<const Memory> arenas_;
  std::vector<ValueState> values_;
  std::vector<Input> inputs_;  // inputs of all run steps, one after the other
  std::vector<Output> outputs_;
  std::vector<PreparedStep> steps_;
  std::vector<BesideStep> beside_;       // indexed as the steps; empty: the caller runs all in order
  std::atomic<bool> has_failed_{false};  // whether a step of this run failed
  ThreadTeams teams_;
  ThreadTeam* callers_team_ = nullptr;
  std::map<const ThreadTeam*, std::shared_ptr<void>> scratch_;
  /// Memory for copies by way of the host, by the space that they go to.
  std::map<const MemorySpace*, Memory> staging_;
  const CoreSet* callers_cores_ = nullptr;  // null: wherever the caller runs
  std::unique_ptr<class ArgumentBinder> binder_;
  std::unique_ptr<SizePlanner> planner_;  // null: the function has no open sizes
  OpenArenas& open_arenas_;
  std::vector<int64_t> applied_sizes_;  // sizes of the plan that values and steps have
  uint64_t applied_generation_ = 0;     // generation of the arenas that they lie in
  bool has_dynamic_ = false;
  DumpHook dump_;
  TraceCallback trace_;
};

}  // namespace intarsia
