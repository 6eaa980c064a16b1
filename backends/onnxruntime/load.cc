#include "backends/onnxruntime/load.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>

#include "backends/onnxruntime/opaque_values.h"
#include "backends/onnxruntime/ort_session.h"
#include "backends/onnxruntime/session_blob_generated.h"

namespace intarsia {
namespace ort {
namespace {

/// The values of one run. Those on our buffers, and those that hold copied strings, are dropped with it.
struct Call {
  std::vector<OwnedValue> owned;
  std::vector<const Value*> inputs;
  std::vector<Value*> outputs;
};

class SessionExecutable : public Executable {
 public:
  explicit SessionExecutable(std::shared_ptr<const ModelSession> session)
      : session_(std::move(session)), passed_through_(session_->outputs().size(), -1) {
    const std::vector<Port>& inputs = session_->inputs();
    for (size_t i = 0; i < passed_through_.size(); ++i) {
      const auto at = std::ranges::find(inputs, session_->outputs()[i].name, &Port::name);
      if (at != inputs.end()) passed_through_[i] = static_cast<int>(at - inputs.begin());
    }
  }

  Status run(const RunContext& context) const override {
    const size_t inputs = session_->inputs().size(), outputs = session_->outputs().size();
    if (context.inputs.size() != inputs || context.outputs.size() != outputs) {
      return fail("the ONNX Runtime region has {} inputs and {} outputs, got {} and {}", inputs, outputs,
                  context.inputs.size(), context.outputs.size());
    }
    if (context.threads != nullptr) context.threads->park();
    Call call;
    call.owned.reserve(inputs + outputs);
    call.inputs.reserve(inputs);
    call.outputs.resize(outputs, nullptr);
    for (size_t i = 0; i < inputs; ++i) TRY(give_input(context.inputs[i], i, call));
    for (size_t i = 0; i < outputs; ++i) TRY(give_output(context.outputs[i], i, call));
    TRY(with_context(session_->run(call.inputs, call.outputs), "ONNX Runtime {}", session_->library().version()));
    return take_outputs(context, call);
  }

 private:
  const Library& library() const { return session_->library(); }
  bool is_tensor_output(size_t i) const { return session_->outputs()[i].kind == Kind::tensor; }

  /// Fixed shapes are written in place; strings cannot be, they live in the library's own form.
  bool is_in_place(const Output& output, size_t i) const {
    return !output.late && is_tensor_output(i) && output.tensor.dtype != DType::string && passed_through_[i] < 0;
  }

  Status give_input(const Input& input, size_t i, Call& call) const {
    if (input.tensor.dtype == DType::undefined) {
      if (input.owner == nullptr) return fail("input '{}' has no value", session_->inputs()[i].name);
      call.inputs.push_back(static_cast<const Value*>(input.owner.get()));
      return {};
    }
    OwnedValue value = TRY(with_context(wrap_tensor(library(), input.tensor), "input '{}'", session_->inputs()[i].name));
    call.inputs.push_back(value.get());
    call.owned.push_back(std::move(value));
    return {};
  }

  Status give_output(const Output& output, size_t i, Call& call) const {
    if (!is_in_place(output, i)) return {};
    OwnedValue value = TRY(with_context(wrap_tensor(library(), output.tensor), "output '{}'", session_->outputs()[i].name));
    call.outputs[i] = value.get();
    call.owned.push_back(std::move(value));
    return {};
  }

  /// What the library made itself: adopted when late, copied when it is strings for the caller's array.
  /// What the library made itself: adopted when late, copied when it is strings for the caller's array.
  Status take_outputs(const RunContext& context, Call& call) const {
    std::vector<OwnedValue> made(call.outputs.size());
    for (size_t i = 0; i < made.size(); ++i) {
      if (!is_in_place(context.outputs[i], i)) made[i] = OwnedValue(call.outputs[i], {&library()});
    }
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i] == nullptr) continue;
      const Status taken = passed_through_[i] >= 0 && is_tensor_output(i)
                               ? copy_input(context.inputs[static_cast<size_t>(passed_through_[i])], context.outputs[i])
                               : take_output(context.outputs[i], i, std::move(made[i]));
      TRY(with_context(taken, "output '{}'", session_->outputs()[i].name));
    }
    return {};
  }

  static Status copy_input(const Input& input, Output& output) {
    if (output.late) {
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
    if (!output.late && is_tensor_output(i)) return copy_strings(library(), value.get(), output.tensor);
    output.owner = share_value(std::move(value), session_);
    output.tensor = {};
    if (!is_tensor_output(i)) return {};
    const Tensor tensor = TRY(view_tensor(library(), output.owner));
    output.tensor = tensor.view();
    output.owner = tensor.owner();
    return {};
  }

  std::shared_ptr<const ModelSession> session_;
  std::vector<int> passed_through_;  // by output: the input that it is, which the library does not copy; else -1
};

Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(context.blob.data());
  const std::vector<uint8_t> aligned(bytes, bytes + context.blob.size());
  flatbuffers::Verifier verifier(aligned.data(), aligned.size(), 64, 1 << 30);
  if (aligned.size() < 8 || !fbs::VerifySessionBlobBuffer(verifier)) {
    return fail("damaged ONNX Runtime region: the bytes are no session blob");
  }
  const fbs::SessionBlob& blob = *fbs::GetSessionBlob(aligned.data());
  std::string_view model;
  if (blob.model()) model = {reinterpret_cast<const char*>(blob.model()->data()), blob.model()->size()};
  std::vector<std::string> names;
  for (size_t i = 0; blob.constants() && i < blob.constants()->size(); ++i) {
    names.push_back(blob.constants()->Get(static_cast<uint32_t>(i))->str());
  }
  const SessionSettings settings{.threads = context.threads, .constant_names = names, .constants = context.constants};
  return std::make_unique<SessionExecutable>(
      TRY(with_context(ModelSession::from_bytes(model, settings), "ONNX Runtime region")));
}

}  // namespace
}  // namespace ort

RunBackend onnxruntime_run_backend() { return {"onnxruntime", ort::load, unpack_opaque, pack_opaque}; }

}  // namespace intarsia
