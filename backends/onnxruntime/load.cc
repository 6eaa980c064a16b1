#include "backends/onnxruntime/load.h"

#include <algorithm>
#include <atomic>

#include "backends/onnxruntime/opaque_values.h"
#include "backends/onnxruntime/profile_model.h"
#include "onnx_region/region_model.h"

namespace intarsia {
namespace ort {
namespace {

/// Value over one of our buffers, kept for the next run: buffers mostly stay where they are.
struct WrappedBuffer {
  ConstTensorView view;
  OwnedValue value;
};

/// Values of one run.
struct Call {
  std::vector<WrappedBuffer> input_buffers, output_buffers;
  std::vector<const Value*> inputs;
  std::vector<Value*> outputs;
};

SessionSettings settings_of(const RegionModel& model) {
  return {.threads = model.threads,
          .cores = model.cores,
          .constant_names = model.constant_names,
          .constants = model.constants};
}

/// Executable that is immutable except for one spare Call, which a run takes and returns.
class SessionExecutable : public Executable {
 public:
  SessionExecutable(std::shared_ptr<const ModelSession> session, RegionModel model)
      : session_(std::move(session)),
        model_(std::move(model)),
        passed_through_(session_->outputs().size(), -1) {
    const std::vector<Port>& inputs = session_->inputs();
    for (size_t i = 0; i < passed_through_.size(); ++i) {
      const auto at = std::ranges::find(inputs, session_->outputs()[i].name, &Port::name);
      if (at != inputs.end()) passed_through_[i] = static_cast<int>(at - inputs.begin());
    }
  }
  ~SessionExecutable() override { delete spare_.load(); }

  Status run(const RunContext& context) const override {
    const size_t inputs = session_->inputs().size(), outputs = session_->outputs().size();
    if (context.inputs.size() != inputs || context.outputs.size() != outputs) {
      return fail("the ONNX Runtime region has {} inputs and {} outputs, got {} and {}", inputs, outputs,
                  context.inputs.size(), context.outputs.size());
    }
    if (context.threads != nullptr) context.threads->park();
    std::unique_ptr<Call> call(spare_.exchange(nullptr));
    if (call == nullptr) call = make_call();
    TRY(run_call(context, *call));
    if (context.is_profile && context.trace != nullptr) report_operators(*context.trace, *call);
    delete spare_.exchange(call.release());
    return {};
  }

 private:
  const Library& library() const { return session_->library(); }
  bool is_tensor_output(size_t i) const { return session_->outputs()[i].kind == Kind::tensor; }

  /// Checks whether the library writes the output in place: a fixed shape, but not strings, which it stores
  /// in its own form, nor an input that is passed through.
  bool is_in_place(const Output& output, size_t i) const {
    return !output.dynamic && is_tensor_output(i) && output.tensor.dtype != DType::string &&
           passed_through_[i] < 0;
  }

  std::unique_ptr<Call> make_call() const {
    auto call = std::make_unique<Call>();
    call->inputs.resize(session_->inputs().size());
    call->outputs.resize(session_->outputs().size());
    call->input_buffers.resize(call->inputs.size());
    call->output_buffers.resize(call->outputs.size());
    return call;
  }

  Status run_call(const RunContext& context, Call& call) const {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      call.inputs[i] = TRY(with_context(give_input(context.inputs[i], call.input_buffers[i]), "input '{}'",
                                        session_->inputs()[i].name));
    }
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      call.outputs[i] = nullptr;
      if (!is_in_place(context.outputs[i], i)) continue;
      call.outputs[i] = TRY(with_context(wrap_buffer(context.outputs[i].tensor, call.output_buffers[i]),
                                         "output '{}'", session_->outputs()[i].name));
    }
    TRY(with_context(session_->run(call.inputs, call.outputs), "ONNX Runtime {}", library().version()));
    return take_outputs(context, call);
  }

  /// Reports the operators' times; none if the profile fails: what was asked for is the run.
  void report_operators(const TraceHook& trace, const Call& call) const {
    const auto times = profile_model(model_.bytes, settings_of(model_), call.inputs);
    for (const OperatorTime& time : times.value_or(std::vector<OperatorTime>()))
      trace(time.label, 0, time.nanoseconds);
  }

  /// Wraps a buffer, or returns the value kept for it; `View` is that of an input or of an output.
  template <typename View>
  Result<Value*> wrap_buffer(const View& tensor, WrappedBuffer& kept) const {
    const bool same = kept.value != nullptr && kept.view.data == tensor.data &&
                      kept.view.dtype == tensor.dtype && kept.view.shape == tensor.shape &&
                      tensor.dtype != DType::string;
    if (!same) {
      kept.value = TRY(wrap_tensor(library(), tensor));
      kept.view = tensor;
    }
    return kept.value.get();
  }

  Result<const Value*> give_input(const Input& input, WrappedBuffer& kept) const {
    if (input.tensor.dtype != DType::undefined) return TRY(wrap_buffer(input.tensor, kept));
    if (input.owner == nullptr) return fail("it has no value");
    const auto* value = static_cast<const Value*>(input.owner.get());
    int has = 0;  // an optional without a value is not fed at all
    TRY(library().check(library().api().has_value(value, &has)));
    return has ? value : nullptr;
  }

  /// Takes what the library allocated itself: adopted if dynamic, copied if it is strings for the caller's
  /// array. An input that is passed through is copied.
  Status take_outputs(const RunContext& context, Call& call) const {
    std::vector<OwnedValue> made(call.outputs.size());
    for (size_t i = 0; i < made.size(); ++i) {
      if (!is_in_place(context.outputs[i], i)) made[i] = OwnedValue(call.outputs[i], {&library()});
    }
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i] == nullptr) continue;
      const int input = is_tensor_output(i) ? passed_through_[i] : -1;
      const Status taken = input >= 0
                               ? copy_input(context.inputs[static_cast<size_t>(input)], context.outputs[i])
                               : take_output(context.outputs[i], i, std::move(made[i]));
      TRY(with_context(taken, "output '{}'", session_->outputs()[i].name));
    }
    return {};
  }

  static Status copy_input(const Input& input, Output& output) {
    if (output.dynamic) {
      const Tensor copy(input.tensor);
      output.tensor = copy.view();
      output.owner = copy.owner();
      return {};
    }
    if (input.tensor.dtype != output.tensor.dtype || input.tensor.shape != output.tensor.shape) {
      return fail("it is {} {}, want {} {}", dtype_name(input.tensor.dtype), print_shape(input.tensor.shape),
                  dtype_name(output.tensor.dtype), print_shape(output.tensor.shape));
    }
    copy_elements(input.tensor, output.tensor);
    return {};
  }

  Status take_output(Output& output, size_t i, OwnedValue value) const {
    if (!output.dynamic && is_tensor_output(i)) return copy_strings(library(), value.get(), output.tensor);
    output.owner = share_value(std::move(value), session_);
    output.tensor = {};
    if (!is_tensor_output(i)) return {};
    const Tensor tensor = TRY(view_tensor(library(), output.owner));
    output.tensor = tensor.view();
    output.owner = tensor.owner();
    return {};
  }

  std::shared_ptr<const ModelSession> session_;
  const RegionModel model_;
  std::vector<int> passed_through_;  // indexed by output: input that it passes through, which the library
                                     // does not copy; else -1
  mutable std::atomic<Call*> spare_ = nullptr;  // owned
};

Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  RegionModel model = TRY(with_context(decode_region_model(context), "ONNX Runtime region"));
  auto session =
      TRY(with_context(ModelSession::from_bytes(model.bytes, settings_of(model)), "ONNX Runtime region"));
  return std::make_unique<SessionExecutable>(std::move(session), std::move(model));
}

}  // namespace
}  // namespace ort

RunBackend onnxruntime_run_backend() { return {"onnxruntime", ort::load, unpack_opaque, pack_opaque}; }

}  // namespace intarsia
