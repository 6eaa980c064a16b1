#include "runtime/prepared_function.h"

#include <algorithm>
#include <optional>

#include "base/caught.h"
#include "runtime/bind_arguments.h"
#include "runtime/body_step.h"
#include "runtime/region_text.h"
#include "runtime/source_layout.h"

namespace intarsia {

void ValueState::set_data(void* data) {
  view.data = data;
  for (Input* reader : readers) reader->tensor.data = data;
  if (writer != nullptr) writer->tensor.data = data;
}

void ValueState::set_shape(const Shape& shape) {
  view.shape = shape;
  for (Input* reader : readers) reader->tensor.shape = shape;
  if (writer != nullptr) writer->tensor.shape = shape;
}

void ValueState::set_place(void* data, const Place& there) {
  place = there;
  for (Input* reader : readers) reader->place = there;
  if (writer != nullptr) writer->place = there;
  set_data(data);
}

void ValueState::set(const TensorView& tensor, const Place& there, std::shared_ptr<void> new_owner) {
  view = tensor;
  place = there;
  for (Input* reader : readers) *reader = {tensor, new_owner, there};
  owner = std::move(new_owner);
}

/// Takes a value that a backend handed over, if it is what the description promised its readers.
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
    const bool exists = tensor.data != nullptr || made.place.memory != nullptr;
    fits = fits && (exists || tensor.bytes() == 0);
    if (!fits) {
      return fail("it produced {} {} for '{}', which is declared differently", dtype_name(tensor.dtype),
                  print_shape(tensor.shape), value.about->name);
    }
  }
  value.set(made.tensor, made.place, std::move(made.owner));
  return {};
}

Status PreparedFunction::run_region(PreparedStep& step) {
  TRY(step.executor->run(*step.executable, step.context));
  if (step.writes_dynamic) {
    for (uint32_t id : step.outputs) {
      if (values_[id].is_dynamic()) TRY(take_dynamic(id));
    }
  }
  return {};
}

/// Allocates the target of a copy whose size is known only at run time, as large as its source.
Status PreparedFunction::make_target(PreparedStep& step, const ValueState& from, ValueState& to) {
  if (from.view.dtype == DType::string) {
    const Tensor made(from.view.dtype, from.view.shape);
    to.set(made.view(), {}, made.owner());
    return {};
  }
  const Memory made = TRY(step.to->allocate(from.view.bytes()));
  const Place place{made.handle(), 0};
  to.set(TensorView{step.to->address(place), from.view.dtype, from.view.shape}, place, made.owner());
  return {};
}

Status PreparedFunction::run_copy(PreparedStep& step, TimeSpan* ran) {
  const ValueState& from = values_[step.inputs[0]];
  ValueState& to = values_[step.outputs[0]];
  if (from.is_opaque()) {
    to.set(from.view, from.place, from.owner);
    return {};
  }
  if (to.is_dynamic())
    TRY(make_target(step, from, to));
  else if (from.view.shape != to.view.shape)
    return fail("it has shape {}, planned as {}", print_shape(from.view.shape), print_shape(to.view.shape));
  if (from.view.dtype == DType::string) {
    copy_elements(from.view, to.view);
    return {};
  }
  const size_t bytes = from.view.bytes();
  void* staging = nullptr;
  if (needs_staging(*step.from, *step.to)) {
    Memory& memory = staging_.at(step.to);
    if (memory.bytes() < bytes) memory = Memory(TRY(step.to->allocate_staging(bytes)), bytes);
    staging = memory.handle();
  }
  return copy_between(*step.from, from.source(), *step.to, to.source(), bytes, staging, ran);
}

void PreparedFunction::dump_outputs(const PreparedStep& step) {
  for (uint32_t id : step.outputs) {
    const ValueState& value = values_[id];
    if (value.is_opaque()) continue;
    TensorView view = value.view;
    std::vector<std::byte> copy;
    if (!value.is_on_host()) {
      copy.resize(view.bytes());
      if (!program_.spaces[value.about->space]->download(copy.data(), value.place, copy.size())) continue;
      view.data = copy.data();
    }
    if (value.about->axes.empty()) {
      dump_(value.about->name, view);
    } else {
      dump_(value.about->name, in_source_layout(view, value.about->axes).view());
    }
  }
}

std::string PreparedFunction::step_text(const PreparedStep& step) const {
  if (step.kind != fbs::StepKind::copy) return region_text(program_.description(), step.region);
  return fmt::format("copying '{}' from {} to {}", values_[step.inputs[0]].about->name, step.from->name(),
                     step.to->name());
}

void PreparedFunction::set_trace(const TraceCallback& trace, bool is_profile) {
  trace_ = trace;
  for (PreparedStep& step : steps_) {
    step.trace_kernel = nullptr;
    if (trace) {
      step.trace_kernel = [this, &step](std::string_view name, int64_t begin, int64_t end) {
        trace_({name, "kernel", step.executor->name(), begin, end, static_cast<int>(step.region)});
      };
    }
    step.context.trace = trace ? &step.trace_kernel : nullptr;
    step.context.is_profile = is_profile;
    if (step.bodies == nullptr) continue;
    for (const auto& body : step.bodies->bodies()) body->function().set_trace(trace, is_profile);
  }
}

void PreparedFunction::set_dump(const DumpHook& dump) {
  dump_ = dump;
  for (const PreparedStep& step : steps_) {
    if (step.bodies == nullptr) continue;
    for (const auto& body : step.bodies->bodies()) body->function().set_dump(dump);
  }
}

Status PreparedFunction::run_untraced(PreparedStep& step, TimeSpan* ran) {
  if (step.kind == fbs::StepKind::copy) return run_copy(step, ran);
  return step.bodies == nullptr ? run_region(step) : step.bodies->run();
}

Status PreparedFunction::run_traced(PreparedStep& step) {
  const bool run = step.kind != fbs::StepKind::copy;
  const int64_t begin = clock_nanoseconds();
  TimeSpan copied;  // times by the device's clock
  Status status = run_untraced(step, &copied);
  const TimeSpan ran = copied.end_ns != 0 ? copied : TimeSpan{begin, clock_nanoseconds()};
  const std::string_view kind = !run ? "copy" : step.bodies == nullptr ? "region" : "bodies";
  trace_({step_text(step), kind, step.executor->name(), ran.begin_ns, ran.end_ns,
          run ? static_cast<int>(step.region) : -1});
  return status;
}

/// Runs a step; no exception leaves it, as other threads run steps, too.
Status PreparedFunction::run_step(PreparedStep& step) {
  Status status = caught([&] { return do_step(step); });
  if (status) return status;
  return caught([&] { return with_context(std::move(status), "{}", step_text(step)); });
}

Status PreparedFunction::do_step(PreparedStep& step) {
  if (step.cores != nullptr)
    TRY(run_on_its_cores(step));
  else if (trace_)
    TRY(run_traced(step));
  else
    TRY(run_untraced(step));
  if (dump_) dump_outputs(step);
  return {};
}

Status PreparedFunction::run_on_its_cores(PreparedStep& step) {
  const BoundThread bound(*step.cores);
  return trace_ ? run_traced(step) : run_region(step);
}

void PreparedFunction::run_task(size_t number) {
  Status& status = beside_[number].status;
  status = {};
  if (has_failed_.load(std::memory_order_relaxed)) return;
  const ThreadTeam::Busy busy(steps_[number].context.threads);
  status = run_step(steps_[number]);
  if (!status) has_failed_.store(true, std::memory_order_relaxed);
}

/// Enqueues all steps that are not the caller's, in their order, then runs the caller's; each waits for what
/// it needs. When one fails, steps that have not started are skipped, and those that have are waited for:
/// they use the callers' buffers.
Status PreparedFunction::run_beside() {
  has_failed_.store(false, std::memory_order_relaxed);
  for (BesideStep& step : beside_)
    if (step.queue == nullptr) step.task->expect();
  const Status begun = caught([&]() -> Status {
    for (size_t number = 0; number < beside_.size(); ++number) {
      BesideStep& step = beside_[number];
      if (step.queue != nullptr) step.queue->enqueue(*step.task, steps_[number].executor->cores());
    }
    return {};
  });
  if (!begun) has_failed_.store(true, std::memory_order_relaxed);
  for (const BesideStep& step : beside_)
    if (step.queue == nullptr) step.task->run();
  for (const BesideStep& step : beside_) step.task->wait();
  TRY(begun);
  for (const BesideStep& step : beside_) TRY(step.status);
  return {};
}

Status PreparedFunction::run_in_sequence() {
  const ThreadTeam::Busy busy(callers_team_);
  for (PreparedStep& step : steps_) TRY(run_step(step));
  return {};
}

Status PreparedFunction::run_steps() {
  std::optional<BoundThread> bound;
  if (callers_cores_ != nullptr) bound.emplace(*callers_cores_);
  return beside_.empty() || dump_ ? run_in_sequence() : run_beside();
}

/// Sets the shapes and places that follow from the open sizes of this run, unless they are set already.
Status PreparedFunction::apply_sizes() {
  const SizePlan& plan = *TRY(planner_->plan(binder_->open_sizes()));
  if (Status grown = open_arenas_.grow(plan.arena_bytes); !grown)
    return with_context(std::move(grown), "with {}", binder_->print_open_sizes());
  if (applied_generation_ == open_arenas_.generation() && applied_sizes_ == plan.sizes) return {};
  for (size_t i = 0; i < plan.shapes.size(); ++i) values_[planner_->values()[i]].set_shape(plan.shapes[i]);
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    const BoundPiece& piece = planner_->pieces()[i];
    const Place place{open_arenas_.of(piece.space).handle(), static_cast<size_t>(plan.offsets[i])};
    void* const address = program_.spaces[piece.space]->address(place);
    if (piece.is_value) {
      values_[piece.number].set_place(address, place);
    } else {
      RunContext& context = steps_[piece.number].context;
      context.workspace = plan.bytes[i] == 0 ? nullptr : static_cast<std::byte*>(address);
      context.workspace_place = place;
    }
  }
  applied_sizes_ = plan.sizes;
  applied_generation_ = open_arenas_.generation();
  return {};
}

void PreparedFunction::drop_dynamic_values() {
  for (ValueState& value : values_) {
    if (!value.is_dynamic()) continue;
    value.set(TensorView{nullptr, static_cast<DType>(value.about->dtype), {}}, {}, nullptr);
    if (value.writer != nullptr) *value.writer = Output{value.view, nullptr, true, {}};
  }
}

Result<std::span<const int64_t>> PreparedFunction::find_sizes(std::span<const NamedTensor> inputs) {
  TRY(caught([&] { return binder_->bind_inputs(inputs); }));
  return binder_->open_sizes().sizes;
}

Status PreparedFunction::run(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) {
  const Status status = caught([&]() -> Status {
    TRY(binder_->bind_inputs(inputs));
    if (planner_ != nullptr) TRY(apply_sizes());
    TRY(binder_->bind_outputs(outputs));
    TRY(run_steps());
    return binder_->hand_over(outputs);
  });
  if (has_dynamic_) drop_dynamic_values();
  return status;
}

}  // namespace intarsia
