#include "backends/openvino/load.h"

#include <algorithm>
#include <atomic>

#include "backends/openvino/checked_session.h"
#include "backends/openvino/complete_model.h"
#include "backends/openvino/profile_model.h"
#include "backends/openvino/tensor.h"
#include "base/core_set.h"
#include "base/threads/pool_cores.h"
#include "onnx_region/region_model.h"

namespace intarsia {
namespace openvino {
namespace {

using SetTensor = OvStatus (*)(InferRequest*, size_t, const TensorHandle*);

bool is_of_pool(std::string_view thread) { return thread == thread_name; }

SessionSettings settings_of(const RegionModel& model) {
  return {
      .threads = model.threads, .device = device_of(model.executor), .rounds_to_bf16 = model.rounds_to_bf16};
}

/// Request with the buffers that it was given: buffers mostly stay where they are.
struct Call {
  OwnedRequest request;
  std::vector<ConstTensorView> inputs, outputs;
};

/// Executable that is immutable except for one spare Call, which a run takes and returns.
class SessionExecutable : public Executable {
 public:
  SessionExecutable(CheckedSession checked, RegionModel model)
      : session_(std::move(checked.session)),
        is_copied_(std::move(checked.is_copied)),
        cores_(model.cores),
        model_(std::move(model)) {}
  ~SessionExecutable() override { delete spare_.load(); }

  Status run(const RunContext& context) const override {
    const size_t inputs = session_->inputs().size(), outputs = session_->outputs().size();
    if (context.inputs.size() != inputs || context.outputs.size() != outputs) {
      return fail("the OpenVINO region has {} inputs and {} outputs, got {} and {}", inputs, outputs,
                  context.inputs.size(), context.outputs.size());
    }
    const auto is_empty = [](const Output& output) {
      return !output.dynamic && element_count(output.tensor.shape) == 0;
    };
    if (std::ranges::all_of(context.outputs, is_empty)) return {};
    if (context.threads != nullptr) context.threads->park();
    std::unique_ptr<Call> call(spare_.exchange(nullptr));
    if (call == nullptr) call = TRY(make_call());
    TRY(run_on_cores(context, *call));
    if (context.is_profile && context.trace != nullptr) report_operators(context);
    delete spare_.exchange(call.release());
    return {};
  }

 private:
  const Library& library() const { return session_->library(); }

  Result<std::unique_ptr<Call>> make_call() const {
    return std::make_unique<Call>(TRY(session_->make_request()),
                                  std::vector<ConstTensorView>(session_->inputs().size()),
                                  std::vector<ConstTensorView>(session_->outputs().size()));
  }

  /// Reports the operators' times; none if the profile fails: what was asked for is the run.
  void report_operators(const RunContext& context) const {
    const auto profile = [&]() -> Result<std::vector<OperatorTime>> {
      return profile_model(TRY(complete_model(model_)), settings_of(model_), context.inputs);
    };
    for (const OperatorTime& time : profile().value_or(std::vector<OperatorTime>()))
      (*context.trace)(time.label, 0, time.nanoseconds);
  }

  /// Runs, and binds new threads to the cores: the library makes its threads when it first has work for them.
  Status run_on_cores(const RunContext& context, Call& call) const {
    if (cores_ == nullptr) return run_call(context, call);
    {
      const NamesNewThreads named(thread_name);
      TRY(run_call(context, call));
    }
    if (const int threads = count_threads(); known_threads_.exchange(threads) != threads)
      bind_threads(is_of_pool, *cores_);
    return {};
  }

  Status run_call(const RunContext& context, Call& call) const {
    const Api& api = library().api();
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      TRY(with_context(give(call, api.ov_infer_request_set_input_tensor_by_index, i, context.inputs[i].tensor,
                            call.inputs[i]),
                       "input {}", i));
    }
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (is_copied_[i] || context.outputs[i].dynamic) continue;
      TRY(with_context(give(call, api.ov_infer_request_set_output_tensor_by_index, i,
                            context.outputs[i].tensor, call.outputs[i]),
                       "output {}", i));
    }
    TRY(with_context(library().check(api.ov_infer_request_infer(call.request.get())), "OpenVINO {}",
                     library().version()));
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (is_copied_[i] || context.outputs[i].dynamic)
        TRY(with_context(copy_output(call, i, context.outputs[i]), "output {}", i));
    }
    return {};
  }

  /// Gives the request a buffer that it does not have yet; `View` is that of an input or of an output.
  template <typename View>
  Status give(Call& call, SetTensor set, size_t i, const View& tensor, ConstTensorView& given) const {
    if (given.data == tensor.data && given.dtype == tensor.dtype && given.shape == tensor.shape) return {};
    given = {};
    const Owned<TensorHandle> handle = TRY(wrap_tensor(library(), tensor));
    TRY(library().check(set(call.request.get(), i, handle.get())));
    given = tensor;
    return {};
  }

  /// Copies an output out of the request's own memory, which its next run overwrites.
  Status copy_output(const Call& call, size_t i, Output& output) const {
    TensorHandle* raw = nullptr;
    TRY(library().check(
        library().api().ov_infer_request_get_output_tensor_by_index(call.request.get(), i, &raw)));
    const Owned<TensorHandle> handle(raw, library().api().ov_tensor_free);
    const TensorView made = TRY(view_tensor(library(), raw));
    if (output.dynamic) {
      const Tensor copy{ConstTensorView(made)};
      output.tensor = copy.view();
      output.owner = copy.owner();
      return {};
    }
    if (made.dtype != output.tensor.dtype || made.shape != output.tensor.shape) {
      return fail("OpenVINO returned {} {}, want {} {}", dtype_name(made.dtype), print_shape(made.shape),
                  dtype_name(output.tensor.dtype), print_shape(output.tensor.shape));
    }
    copy_elements(made, output.tensor);
    return {};
  }

  std::shared_ptr<const ModelSession> session_;
  std::vector<bool> is_copied_;  // indexed by output
  const CoreSet* cores_;         // null: not pinned
  const RegionModel model_;
  mutable std::atomic<int> known_threads_ = 0;  // threads of the process after the last run
  mutable std::atomic<Call*> spare_ = nullptr;  // owned
};

Result<CheckedSession> open_on_cores(const RegionModel& model) {
  if (settings_of(model).device != "CPU") return open_checked(TRY(complete_model(model)), settings_of(model));
  TRY(pin_pool("OpenVINO", model.cores));
  if (model.cores == nullptr) return open_checked(TRY(complete_model(model)), settings_of(model));
  TRY(Library::get());
  TRY(Library::check_stays_on_cores());
  CheckedSession session;
  {
    const BoundThread bound(*model.cores);
    session = TRY(open_checked(TRY(complete_model(model)), settings_of(model)));
  }
  bind_threads(is_of_pool, *model.cores);
  return session;
}

Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  RegionModel model = TRY(with_context(decode_region_model(context), "OpenVINO region"));
  CheckedSession session = TRY(with_context(open_on_cores(model), "OpenVINO region"));
  return std::make_unique<SessionExecutable>(std::move(session), std::move(model));
}

/// Names the library's devices except its CPU, which is the host's and needs no name of its own.
std::vector<std::string> executor_names() {
  std::vector<std::string> names;
  for (const std::string& device : list_devices().value_or(std::vector<std::string>())) {
    if (device != "CPU") names.push_back("openvino:" + device);
  }
  return names;
}

}  // namespace
}  // namespace openvino

RunBackend openvino_run_backend() {
  return {.name = "openvino", .load = openvino::load, .devices = openvino::executor_names};
}

}  // namespace intarsia
