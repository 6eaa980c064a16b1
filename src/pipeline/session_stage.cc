#include "pipeline/session_stage.h"

#include "runtime/find_function.h"
#include "runtime/session.h"

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
  }
  return ports;
}

class SessionStage final : public Stage {
 public:
  SessionStage(Session session, const fbs::FunctionT& function, std::vector<StagePort> inputs,
               std::vector<StagePort> outputs)
      : session_(std::move(session)),
        function_(function.name),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}

  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }

  /// Those of the only core set that it uses.
  std::optional<CoreSet> cores() const override {
    std::optional<CoreSet> only;
    for (const auto& executor : session_.program().executors) {
      if (executor == nullptr || executor->cores() == nullptr) continue;
      if (only && *only != *executor->cores()) return std::nullopt;
      only = *executor->cores();
    }
    return only;
  }

  void set_trace(StageTrace trace) override {
    trace_ = std::move(trace);
    session_.set_trace([this](const TraceEvent& event) { trace_(frame_, event); });
  }

  Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    frame_ = frame;
    return session_.run(function_, inputs, outputs);
  }

 private:
  Session session_;
  std::string function_;
  StageTrace trace_;
  uint64_t frame_ = 0;  // that runs, or ran last
  std::vector<StagePort> inputs_, outputs_;
};

}  // namespace

Result<std::unique_ptr<Stage>> make_session_stage(std::shared_ptr<const BoundProgram> program,
                                                  std::string_view name) {
  const fbs::FunctionT& function = *program->functions[TRY(find_function(*program, name))].function;
  std::vector<StagePort> inputs = TRY(make_ports(function, function.inputs));
  std::vector<StagePort> outputs = TRY(make_ports(function, function.outputs));
  Session session = TRY(Session::create(std::move(program)));
  return std::make_unique<SessionStage>(std::move(session), function, std::move(inputs), std::move(outputs));
}

}  // namespace intarsia
