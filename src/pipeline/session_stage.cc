#include "pipeline/session_stage.h"

#include <algorithm>

#include "runtime/fallback_session.h"
#include "runtime/find_function.h"

namespace intarsia {
namespace {

Result<std::vector<StagePort>> make_ports(const fbs::FunctionT& function,
                                          const std::vector<uint32_t>& values) {
  std::vector<StagePort> ports;
  for (const uint32_t id : values) {
    const fbs::ValueT& value = *function.values[id];
    if (value.dtype == 0)
      return fail(ErrorKind::unsupported,
                  "value '{}' is a sequence, optional or map, which pipelines do not carry", value.name);
    StagePort& port =
        ports.emplace_back(StagePort{value.name, static_cast<DType>(value.dtype), std::nullopt});
    if (!value.rank_unknown) port.shape = Shape(value.dims.begin(), value.dims.end());
    port.tuned_shape = value.tuned_dims;
  }
  return ports;
}

const BoundFunction& bound_function(const FallbackSession& session, const std::string& name) {
  const BoundProgram& program = session.session().program();
  return program.functions[*find_function(program, name)];  // always found
}

class SessionStage final : public Stage {
 public:
  static Result<std::unique_ptr<SessionStage>> make(FallbackSession session, const fbs::FunctionT& function) {
    std::unique_ptr<SessionStage> stage(new SessionStage(std::move(session), function.name));
    stage->inputs_ = TRY(make_ports(function, function.inputs));
    stage->outputs_ = TRY(make_ports(function, function.outputs));
    return stage;
  }

  void set_status(const Error& why) { status_ = tl::unexpected(why); }
  void set_note(std::string note) {
    given_note_ = std::move(note);
    tell_alternative();
  }

  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  std::optional<CoreSet> cores() const override { return cores_; }
  std::string_view note() const override { return note_; }
  Status status() const override { return status_; }

  void set_trace(StageTrace trace) override {
    trace_ = std::move(trace);
    if (session_.is_open()) trace_session();
  }

  Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    frame_ = frame;
    while (true) {
      Status ran = session_.session().run(function_, inputs, outputs);
      if (ran || !session_.fall_back(function_, ran.error())) return ran;
      tell_alternative();
    }
  }

  Status recover() override {
    TRY(session_.reopen());
    if (trace_) trace_session();
    tell_alternative();
    return {};
  }

 private:
  SessionStage(FallbackSession session, std::string function)
      : session_(std::move(session)), function_(std::move(function)) {
    if (!session_.is_open()) return;
    cores_ = find_cores();
    tell_alternative();
  }

  void trace_session() {
    session_.session().set_trace([this](const TraceEvent& event) { trace_(frame_, event); });
  }

  /// Returns the only core set that the session uses; nullopt if it uses none or several.
  std::optional<CoreSet> find_cores() const {
    std::optional<CoreSet> only;
    for (const auto& executor : session_.session().program().executors) {
      if (executor == nullptr || executor->cores() == nullptr) continue;
      if (only && *only != *executor->cores()) return std::nullopt;
      only = *executor->cores();
    }
    return only;
  }

  void tell_alternative() {
    const BoundFunction& bound = bound_function(session_, function_);
    note_ = given_note_;
    if (bound.alternative == 0) return;
    if (!note_.empty()) note_ += "; ";
    note_ += fmt::format("runs alternative {} on {}: {}", bound.alternative, bound.targets, bound.reason);
  }

  FallbackSession session_;
  std::string function_, given_note_, note_;
  Status status_;
  StageTrace trace_;
  uint64_t frame_ = 0;  // frame that runs, or ran last
  std::optional<CoreSet> cores_;
  std::vector<StagePort> inputs_, outputs_;
};

bool runs_on_devices_only(const fbs::ProgramT& program, const fbs::FunctionT& function) {
  const auto is_on_device = [&](const auto& step) {
    return step->kind == fbs::StepKind::copy ||
           program.slots[program.regions[step->region]->slot]->space != host_space;
  };
  return !function.steps.empty() && std::ranges::all_of(function.steps, is_on_device);
}

/// Returns the queues of the device that has the fewest; 1 without a device.
uint32_t count_queues(const BoundProgram& bound) {
  std::optional<uint32_t> least;
  for (const auto& executor : bound.executors)
    if (executor != nullptr && !executor->space()->is_host())
      least = std::min(least.value_or(executor->queues()), executor->queues());
  return least.value_or(1);
}

}  // namespace

Result<std::vector<std::unique_ptr<Stage>>> make_session_stages(std::shared_ptr<const LoadedProgram> program,
                                                                std::string_view name, BindOptions options,
                                                                std::optional<uint32_t> frames,
                                                                const std::string& note) {
  std::vector<FallbackSession> sessions;
  sessions.push_back(TRY(FallbackSession::open(std::move(program), std::move(options))));
  const BoundProgram& bound = sessions[0].session().program();
  const fbs::FunctionT& function = *bound.functions[TRY(find_function(bound, name))].function;
  if (runs_on_devices_only(bound.description(), function))
    while (sessions.size() < frames.value_or(count_queues(bound) + 1))
      sessions.push_back(TRY(sessions[0].open_another()));
  std::vector<std::unique_ptr<Stage>> stages;
  for (FallbackSession& session : sessions) {
    std::unique_ptr<SessionStage> stage = TRY(SessionStage::make(std::move(session), function));
    stage->set_note(note);
    stages.push_back(std::move(stage));
  }
  return stages;
}

Result<std::unique_ptr<Stage>> make_absent_stage(std::shared_ptr<const LoadedProgram> program,
                                                 BindOptions options, Error why) {
  const fbs::ProgramT& description = program->description();
  const StageChoice choice = *options.stage;
  const auto& function = *description.functions[TRY(find_function(description, choice.function))];
  const fbs::FunctionT& part = *function.stages[choice.stage]->function;
  std::unique_ptr<SessionStage> stage =
      TRY(SessionStage::make(FallbackSession(std::move(program), std::move(options)), part));
  stage->set_status(why);
  return stage;
}

}  // namespace intarsia
