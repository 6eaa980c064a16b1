#include "runtime/prepared_function.h"

#include <algorithm>
#include <map>

#include "base/caught.h"
#include "runtime/bind_arguments.h"
#include "runtime/region_text.h"

namespace intarsia {

void ValueState::set_data(void* data) {
  view.data = data;
  for (Input* reader : readers) reader->tensor.data = data;
  if (writer != nullptr) writer->tensor.data = data;
}

void ValueState::set(const TensorView& tensor, std::shared_ptr<void> new_owner) {
  view = tensor;
  for (Input* reader : readers) {
    reader->tensor = tensor;
    reader->owner = new_owner;
  }
  owner = std::move(new_owner);
}

PreparedFunction::PreparedFunction(const BoundProgram& program, const fbs::FunctionT& function,
                                   std::span<std::byte* const> arenas, ThreadTeam& threads)
    : program_(program),
      function_(function),
      values_(function.values.size()),
      steps_(function.steps.size()),
      threads_(threads) {
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i].about = function.values[i].get();
    prepare_value(values_[i], arenas);
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
  staging_.resize(arenas.size());
  for (size_t i = 0; i < steps_.size(); ++i) prepare_step(i, arenas);
  binder_ = std::make_unique<ArgumentBinder>(function, values_);
  const StepSchedule schedule = schedule_steps(program, function);
  share_threads(schedule);
  if (schedule.overlaps) {
    lanes_ = std::make_unique<Lanes>(schedule, [this](uint32_t step) {
      const ThreadTeam::Busy busy(steps_[step].context.threads);
      return run_step(step);
    });
  }
}

/// A team has one caller at a time, so each lane that runs beside the caller's has its own.
void PreparedFunction::share_threads(const StepSchedule& schedule) {
  for (PreparedStep& step : steps_) step.context.threads = &threads_;
  if (!schedule.overlaps) return;
  for (size_t lane = 1; lane < schedule.lanes.size(); ++lane) {
    lane_threads_.push_back(std::make_unique<ThreadTeam>(threads_.pool(), threads_.size()));
    for (uint32_t step : schedule.lanes[lane]) steps_[step].context.threads = lane_threads_.back().get();
  }
}

/// The steps of a team run one after the other, and share the memory.
Status PreparedFunction::allocate_scratch() {
  std::map<const ThreadTeam*, size_t> bytes;
  for (const PreparedStep& step : steps_) {
    if (step.executable == nullptr) continue;
    size_t& most = bytes[step.context.threads];
    most = std::max(most, step.executable->scratch_bytes(step.context.threads->size()));
  }
  for (const auto& [team, needed] : bytes) {
    if (needed == 0) continue;
    scratch_.push_back(allocate_aligned(needed));
    if (scratch_.back() == nullptr)
      return fail(ErrorKind::out_of_memory, "cannot allocate {} bytes for {} threads; bind fewer", needed,
                  team->size());
    for (PreparedStep& step : steps_) {
      if (step.context.threads == team) step.context.scratch = static_cast<std::byte*>(scratch_.back().get());
    }
  }
  return {};
}

PreparedFunction::~PreparedFunction() = default;

void PreparedFunction::prepare_value(ValueState& state, std::span<std::byte* const> arenas) const {
  const fbs::ValueT& about = *state.about;
  if (about.storage == fbs::Storage::constant) {
    state.view = program_.constants[about.slot][about.constant];
    return;
  }
  state.view = TensorView{nullptr, static_cast<DType>(about.dtype), about.dims};
  if (about.storage == fbs::Storage::arena) state.view.data = arenas[about.slot] + about.offset;
}

void PreparedFunction::prepare_step(size_t number, std::span<std::byte* const> arenas) {
  const fbs::StepT& about = *function_.steps[number];
  PreparedStep& step = steps_[number];
  step.kind = about.kind;
  step.inputs = about.inputs;
  step.outputs = about.outputs;
  step.writes_dynamic =
      std::ranges::any_of(about.outputs, [&](uint32_t id) { return values_[id].is_dynamic(); });
  if (about.kind == fbs::StepKind::copy) {
    const ValueState& from = values_[about.inputs[0]];
    step.device = program_.devices[from.about->slot].get();
    step.target = program_.devices[values_[about.outputs[0]].about->slot].get();
    if (!step.device->in_host_memory() && !step.target->in_host_memory() && !from.is_dynamic()) {
      std::vector<std::byte>& staging = staging_[values_[about.outputs[0]].about->slot];
      staging.resize(std::max(staging.size(), from.view.bytes()));
    }
    return;
  }
  const fbs::RegionT& region = *program_.description().regions[about.region];
  step.region = about.region;
  step.device = program_.devices[region.slot].get();
  step.executable = program_.executables[about.region].get();
  Input* const first_input = inputs_.data() + inputs_.size();
  Output* const first_output = outputs_.data() + outputs_.size();
  for (uint32_t id : about.inputs) {
    inputs_.push_back({values_[id].view, nullptr});
    values_[id].readers.push_back(&inputs_.back());
  }
  for (uint32_t id : about.outputs) {
    outputs_.push_back({values_[id].view, nullptr, values_[id].is_dynamic()});
    values_[id].writer = &outputs_.back();
  }
  step.context = RunContext{.inputs = {first_input, about.inputs.size()},
                            .outputs = {first_output, about.outputs.size()},
                            .workspace = arenas[region.slot] + about.workspace_offset};
}

/// What a backend handed over must be what the description promised its readers.
Status PreparedFunction::take_dynamic(uint32_t id) {
  ValueState& value = values_[id];
  Output& made = *value.writer;
  const TensorView& tensor = made.tensor;
  if (value.is_opaque()) {
    if (made.owner == nullptr) return fail("it produced no value for '{}'", value.about->name);
  } else {
    const std::vector<int64_t>& dims = value.about->dims;
    bool fits = tensor.dtype == static_cast<DType>(value.about->dtype) && checked_elements(tensor.shape) &&
                (value.about->rank_unknown || tensor.shape.size() == dims.size());
    for (size_t i = 0; fits && i < dims.size(); ++i) fits = dims[i] < 0 || dims[i] == tensor.shape[i];
    fits = fits && (tensor.data != nullptr || tensor.bytes() == 0);
    if (!fits) {
      return fail("it produced {} {} for '{}', which is declared differently", dtype_name(tensor.dtype),
                  print_shape(tensor.shape), value.about->name);
    }
  }
  value.set(made.tensor, std::move(made.owner));
  return {};
}

Status PreparedFunction::run_region(PreparedStep& step) {
  TRY(step.device->run(*step.executable, step.context));
  if (step.writes_dynamic) {
    for (uint32_t id : step.outputs) {
      if (values_[id].is_dynamic()) TRY(take_dynamic(id));
    }
  }
  return {};
}

Status PreparedFunction::run_copy(PreparedStep& step) {
  const ValueState& from = values_[step.inputs[0]];
  ValueState& to = values_[step.outputs[0]];
  if (from.is_opaque()) {
    to.set(from.view, from.owner);
    return {};
  }
  const bool text = from.view.dtype == DType::string;
  const size_t bytes = from.view.bytes();
  if (to.is_dynamic() && text) {
    const Tensor made(from.view.dtype, from.view.shape);
    to.set(made.view(), made.owner());
  } else if (to.is_dynamic()) {
    const Buffer made = TRY(step.target->allocate(bytes));
    to.set(TensorView{made.data(), from.view.dtype, from.view.shape}, made.memory());
  } else if (from.view.shape != to.view.shape) {
    return fail("it has shape {}, planned as {}", print_shape(from.view.shape), print_shape(to.view.shape));
  }
  if (text) {
    copy_elements(from.view, to.view);
    return {};
  }
  const bool staged =
      !step.device->in_host_memory() && !step.target->in_host_memory() && step.device != step.target;
  std::vector<std::byte>& staging = staging_[to.about->slot];
  if (staged && staging.size() < bytes) staging.resize(bytes);
  return copy_between(*step.device, from.view.data, *step.target, to.view.data, bytes, staging);
}

void PreparedFunction::dump_outputs(const PreparedStep& step) {
  for (uint32_t id : step.outputs) {
    const ValueState& value = values_[id];
    if (value.is_opaque()) continue;
    Device& device = *program_.devices[value.about->slot];
    TensorView view = value.view;
    std::vector<std::byte> copy;
    if (!device.in_host_memory()) {
      copy.resize(view.bytes());
      if (!device.download(copy.data(), view.data, copy.size())) continue;
      view.data = copy.data();
    }
    dump_(value.about->name, view);
  }
}

std::string PreparedFunction::step_text(const PreparedStep& step) const {
  if (step.kind == fbs::StepKind::run) return region_text(program_.description(), step.region);
  return fmt::format("copying '{}' from {} to {}", values_[step.inputs[0]].about->name, step.device->name(),
                     step.target->name());
}

void PreparedFunction::set_trace(const TraceCallback& trace) {
  trace_ = trace;
  for (PreparedStep& step : steps_) {
    step.trace_kernel = nullptr;
    if (trace) {
      step.trace_kernel = [this, &step](std::string_view name, int64_t begin, int64_t end) {
        trace_({name, "kernel", step.device->name(), begin, end});
      };
    }
    step.context.trace = trace ? &step.trace_kernel : nullptr;
  }
}

Status PreparedFunction::run_traced(PreparedStep& step) {
  const bool run = step.kind == fbs::StepKind::run;
  const int64_t begin = clock_nanoseconds();
  Status status = run ? run_region(step) : run_copy(step);
  const int64_t end = clock_nanoseconds();
  trace_({step_text(step), run ? "region" : "copy", step.device->name(), begin, end,
          run ? static_cast<int>(step.region) : -1});
  return status;
}

Status PreparedFunction::run_step(size_t number) {
  return caught([&] { return do_step(number); });
}

Status PreparedFunction::do_step(size_t number) {
  PreparedStep& step = steps_[number];
  Status status = caught([&] {
    if (trace_) return run_traced(step);
    return step.kind == fbs::StepKind::run ? run_region(step) : run_copy(step);
  });
  if (!status) return with_context(std::move(status), "{}", step_text(step));
  if (dump_) dump_outputs(step);
  return {};
}

Status PreparedFunction::run_steps() {
  if (lanes_ != nullptr && !dump_) return lanes_->run();
  for (size_t i = 0; i < steps_.size(); ++i) TRY(run_step(i));
  return {};
}

void PreparedFunction::drop_dynamic_values() {
  for (ValueState& value : values_) {
    if (!value.is_dynamic()) continue;
    value.set(TensorView{nullptr, static_cast<DType>(value.about->dtype), {}}, nullptr);
    if (value.writer != nullptr) *value.writer = Output{value.view, nullptr, true};
  }
}

Status PreparedFunction::run(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) {
  const Status status = caught([&]() -> Status {
    TRY(binder_->bind(inputs, outputs));
    const ThreadTeam::Busy busy(&threads_);
    TRY(run_steps());
    return binder_->hand_over(outputs);
  });
  if (has_dynamic_) drop_dynamic_values();
  return status;
}

}  // namespace intarsia
