// Preparation of a function, before its first run.
#include <algorithm>
#include <utility>

#include "base/requested_shape.h"
#include "runtime/bind_arguments.h"
#include "runtime/body_step.h"
#include "runtime/prepared_function.h"

namespace intarsia {

Result<std::unique_ptr<PreparedFunction>> PreparedFunction::make(const BoundProgram& program,
                                                                 const fbs::FunctionT& function,
                                                                 std::span<const Memory> arenas,
                                                                 OpenArenas& open_arenas, ThreadTeams teams) {
  std::unique_ptr<PreparedFunction> made(
      new PreparedFunction(program, function, arenas, open_arenas, std::move(teams)));
  TRY(made->prepare_bodies());
  TRY(made->allocate_scratch());
  TRY(made->allocate_staging());
  made->reserve_largest();
  return made;
}

PreparedFunction::PreparedFunction(const BoundProgram& program, const fbs::FunctionT& function,
                                   std::span<const Memory> arenas, OpenArenas& open_arenas, ThreadTeams teams)
    : program_(program),
      function_(function),
      arenas_(arenas),
      values_(function.values.size()),
      steps_(function.steps.size()),
      teams_(std::move(teams)),
      open_arenas_(open_arenas) {
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i].about = function.values[i].get();
    prepare_value(values_[i]);
    has_dynamic_ |= values_[i].is_dynamic();
  }
  // Reserved up front: steps and values keep pointers into these two.
  size_t inputs = 0, outputs = 0;
  for (const auto& step : function.steps) {
    if (step->kind != fbs::StepKind::run) continue;
    inputs += step->inputs.size();
    outputs += step->outputs.size();
  }
  inputs_.reserve(inputs);
  outputs_.reserve(outputs);
  binder_ = std::make_unique<ArgumentBinder>(function, values_);
  for (size_t i = 0; i < steps_.size(); ++i) prepare_step(i);
  StepSchedule schedule = schedule_steps(program, function);
  prepare_tasks(schedule);
  if (!function.symbols.empty())
    planner_ = std::make_unique<SizePlanner>(program, function, std::move(schedule.order));
  share_threads();
}

PreparedFunction::~PreparedFunction() = default;

/// Checks whether the step that writes an output works where the output begins at its input's address. Other
/// steps only read what both have in common there.
bool PreparedFunction::can_append(uint32_t output) const {
  const uint32_t input = function_.inputs[function_.values[output]->continues - 1];
  const auto place_of = [](std::span<const uint32_t> values, uint32_t id) {
    return static_cast<size_t>(std::ranges::find(values, id) - values.begin());
  };
  for (const PreparedStep& step : steps_) {
    const size_t to = place_of(step.outputs, output), from = place_of(step.inputs, input);
    if (to == step.outputs.size()) continue;
    const bool is_run = step.executable != nullptr && step.executor->space()->is_host();
    return is_run && from < step.inputs.size() && step.executable->appends(from, to);
  }
  return false;
}

void PreparedFunction::append_in_place() {
  std::vector<bool> can_append_to(values_.size());
  for (uint32_t output : function_.outputs)
    can_append_to[output] = function_.values[output]->continues > 0 && can_append(output);
  binder_->append_in_place(std::move(can_append_to));
}

void PreparedFunction::prepare_value(ValueState& state) const {
  const fbs::ValueT& about = *state.about;
  if (about.storage == fbs::Storage::constant) {
    const PlacedConstant& constant = program_.constants[about.space][about.constant];
    state.view = constant.tensor;
    state.place = constant.place;
    return;
  }
  state.view = TensorView{nullptr, static_cast<DType>(about.dtype), about.dims};
  if (about.storage != fbs::Storage::arena) return;
  state.place = {arenas_[about.space].handle(), static_cast<size_t>(about.offset)};
  state.view.data = program_.spaces[about.space]->address(state.place);
}

void PreparedFunction::prepare_step(size_t number) {
  const fbs::StepT& about = *function_.steps[number];
  PreparedStep& step = steps_[number];
  step.kind = about.kind;
  step.inputs = about.inputs;
  step.outputs = about.outputs;
  step.writes_dynamic =
      std::ranges::any_of(about.outputs, [&](uint32_t id) { return values_[id].is_dynamic(); });
  if (about.kind == fbs::StepKind::copy) {
    prepare_copy(step);
  } else if (about.kind == fbs::StepKind::run) {
    prepare_run(step, about);
  } else {
    step.region = about.region;
    step.executor = program_.executors[program_.description().regions[about.region]->slot].get();
  }
}

void PreparedFunction::prepare_copy(PreparedStep& step) {
  const uint32_t from = values_[step.inputs[0]].about->space, to = values_[step.outputs[0]].about->space;
  step.from = program_.spaces[from].get();
  step.to = program_.spaces[to].get();
  const auto& slots = program_.description().slots;
  for (size_t i = 0; i < slots.size() && step.executor == nullptr; ++i) {
    if (slots[i]->space == (to == host_space ? from : to)) step.executor = program_.executors[i].get();
  }
}

void PreparedFunction::prepare_run(PreparedStep& step, const fbs::StepT& about) {
  const fbs::RegionT& region = *program_.description().regions[about.region];
  const uint32_t space = program_.description().slots[region.slot]->space;
  step.region = about.region;
  step.executor = program_.executors[region.slot].get();
  step.executable = program_.executables[about.region].get();
  Input* const first_input = inputs_.data() + inputs_.size();
  Output* const first_output = outputs_.data() + outputs_.size();
  for (uint32_t id : about.inputs) {
    inputs_.push_back({values_[id].view, nullptr, values_[id].place});
    values_[id].readers.push_back(&inputs_.back());
  }
  for (uint32_t id : about.outputs) {
    outputs_.push_back({values_[id].view, nullptr, values_[id].is_dynamic(), values_[id].place});
    values_[id].writer = &outputs_.back();
  }
  step.context = RunContext{.inputs = {first_input, about.inputs.size()},
                            .outputs = {first_output, about.outputs.size()},
                            .open_sizes = binder_->open_sizes()};
  if (step.executable->has_open_workspace()) return;  // apply_sizes() gives it one
  const Place workspace{arenas_[space].handle(), static_cast<size_t>(about.workspace_offset)};
  step.context.workspace = static_cast<std::byte*>(program_.spaces[space]->address(workspace));
  step.context.workspace_place = workspace;
}

/// Makes tasks of the steps where they overlap.
void PreparedFunction::prepare_tasks(const StepSchedule& schedule) {
  beside_.resize(schedule.order.waits.size());
  for (size_t number = 0; number < beside_.size(); ++number) {
    BesideStep& step = beside_[number];
    std::vector<const Task*> before;
    for (uint32_t other : schedule.order.waits[number]) before.push_back(beside_[other].task.get());
    step.queue = schedule.queues[number];
    if (step.queue != nullptr) step.queue->start(steps_[number].executor->cores());
    step.task = std::make_unique<Task>([this, number] { run_task(number); }, std::move(before));
  }
}

/// Makes thread teams. A team has one caller at a time, so the caller and each queue have one per core set.
void PreparedFunction::share_threads() {
  const CoreSet here = CoreSet::of_this_thread();
  const auto queue_of = [&](size_t number) { return beside_.empty() ? nullptr : beside_[number].queue; };
  bool is_first = true;
  for (size_t number = 0; number < steps_.size(); ++number) {
    PreparedStep& step = steps_[number];
    if (step.executable == nullptr) continue;
    const CoreSet* cores = step.executor->cores();
    const Queue* queue = queue_of(number);
    std::shared_ptr<ThreadTeam>& team = teams_[{queue, cores}];
    if (team == nullptr)
      team = std::make_shared<ThreadTeam>(ThreadPool::of(cores == nullptr ? here : *cores), program_.threads);
    step.context.threads = team.get();
    if (queue != nullptr || !step.executor->space()->is_host()) continue;
    if (std::exchange(is_first, false)) {
      callers_cores_ = cores;
      callers_team_ = team.get();
    }
    if (cores != callers_cores_) step.cores = cores;
  }
}

/// Prepares the bodies of branches and loops, which share the caller's threads.
Status PreparedFunction::prepare_bodies() {
  for (size_t number = 0; number < steps_.size(); ++number) {
    const fbs::StepT& about = *function_.steps[number];
    if (has_bodies(about)) steps_[number].bodies = TRY(prepare_body_step(program_, about, values_, teams_));
  }
  return {};
}

/// Allocates scratch memory. The steps of a team run one after the other, and share it.
Status PreparedFunction::allocate_scratch() {
  std::map<ThreadTeam*, size_t> needed;
  for (const PreparedStep& step : steps_) {
    if (step.executable == nullptr) continue;
    size_t& most = needed[step.context.threads];
    most = std::max(most, step.executable->scratch_bytes(step.context.threads->size()));
  }
  for (PreparedStep& step : steps_) {
    const size_t bytes = step.executable == nullptr ? 0 : needed[step.context.threads];
    if (bytes == 0) continue;
    std::shared_ptr<void>& memory = scratch_[step.context.threads];
    if (memory == nullptr)
      memory = TRY(with_context(host_memory_space()->allocate_staging(bytes), "scratch of {} threads",
                                step.context.threads->size()));
    step.context.scratch = static_cast<std::byte*>(memory.get());
  }
  return {};
}

/// Allocates memory for copies of known size by way of the host.
Status PreparedFunction::allocate_staging() {
  std::map<MemorySpace*, size_t> needed;
  for (const PreparedStep& step : steps_) {
    if (step.kind != fbs::StepKind::copy || !needs_staging(*step.from, *step.to)) continue;
    const ValueState& from = values_[step.inputs[0]];
    size_t& most = needed[step.to];
    if (from.is_fixed()) most = std::max(most, from.view.bytes());
  }
  for (const auto& [space, bytes] : needed)
    staging_[space] = Memory(TRY(space->allocate_staging(bytes)), bytes);
  return {};
}

/// Reserves memory for the largest sizes, if all have a largest: no run then moves it. Where that is more
/// than there is, or than the session may take, memory grows with the sizes of the runs.
void PreparedFunction::reserve_largest() {
  if (planner_ == nullptr) return;
  std::vector<int64_t> largest;
  for (const auto& symbol : function_.symbols) {
    largest.push_back(static_cast<int64_t>(symbol->max));
    if (largest.back() == SizeRange::limit) return;
  }
  const auto plan = planner_->plan({binder_->open_sizes().names, largest});
  if (plan) static_cast<void>(open_arenas_.grow((*plan)->arena_bytes));
}

}  // namespace intarsia
