#include "api/callable_stage.h"

#include <algorithm>
#include <cstring>

#include "api/external_tensor.h"
#include "api/handles.h"
#include "pipeline/buffer_pool.h"

namespace intarsia::api {

/// State that the threads of a stage share.
struct Callable {
  Callable(intarsia_stage_run function, void* argument, intarsia_release release, size_t outputs)
      : run(function), user(argument), released(release, argument), pools(outputs) {}

  intarsia_stage_run run;
  void* user;
  Release released;
  std::vector<StagePort> inputs, outputs;
  std::vector<BufferPool> pools;  // indexed by output
  bool may_repeat = true;
};

}  // namespace intarsia::api

struct intarsia_stage_call {
  uint64_t frame = 0;
  intarsia::api::Callable* callable = nullptr;
  std::span<const intarsia::NamedTensor> inputs;
  std::span<intarsia::NamedTensor> outputs;
  std::vector<bool> given;
  intarsia::Status status;
};

namespace intarsia::api {
namespace {

/// Inputs of a stage in the form of the C API, valid while this lives.
class ShownInputs {
 public:
  explicit ShownInputs(std::span<const NamedTensor> inputs) : tensors_(inputs.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      tensors_[i].struct_size = sizeof(intarsia_tensor);
      names_.emplace_back(inputs[i].name);
    }
    for (size_t i = 0; i < inputs.size(); ++i) tensors_[i].name = names_[i].c_str();
  }
  ~ShownInputs() {
    for (intarsia_tensor& tensor : tensors_) release_tensor(tensor);
  }
  ShownInputs(const ShownInputs&) = delete;
  ShownInputs& operator=(const ShownInputs&) = delete;

  Status show(std::span<const NamedTensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) TRY(write_output(inputs[i], nullptr, nullptr, tensors_[i]));
    return {};
  }
  const std::vector<intarsia_tensor>& tensors() const { return tensors_; }

 private:
  std::vector<intarsia_tensor> tensors_;
  std::vector<std::string> names_;
};

class CallableStage final : public Stage {
 public:
  CallableStage(std::shared_ptr<Callable> callable, std::optional<CoreSet> cores)
      : callable_(std::move(callable)), cores_(std::move(cores)) {}

  std::span<const StagePort> inputs() const override { return callable_->inputs; }
  std::span<const StagePort> outputs() const override { return callable_->outputs; }
  std::optional<CoreSet> cores() const override { return cores_; }
  bool may_repeat() const override { return callable_->may_repeat; }

  Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    ShownInputs shown(inputs);
    TRY(shown.show(inputs));
    intarsia_stage_call call{frame, callable_.get(), inputs, outputs, std::vector<bool>(outputs.size()), {}};
    callable_->run(callable_->user, &call, shown.tensors().data(), inputs.size());
    TRY(std::move(call.status));
    const auto missing = std::ranges::find(call.given, false);
    if (missing == call.given.end()) return {};
    return fail("it returned without giving output '{}'", outputs[size_t(missing - call.given.begin())].name);
  }

 private:
  std::shared_ptr<Callable> callable_;
  std::optional<CoreSet> cores_;
};

Result<std::vector<StagePort>> read_ports(const char* const* names, size_t count, const char* what) {
  if (count > 0 && names == nullptr) return fail("its {} names are a null pointer", what);
  std::vector<StagePort> ports;
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == nullptr || *names[i] == 0) return fail("{} {} has no name", what, i);
    ports.push_back({names[i], DType::undefined, std::nullopt});
  }
  return ports;
}

/// Finds the output to give.
Result<NamedTensor*> find_output(intarsia_stage_call* call, size_t output) {
  if (call == nullptr) return fail("the stage's call is a null pointer");
  if (output >= call->outputs.size())
    return fail("no output {}; the stage has {}", output, call->outputs.size());
  return &call->outputs[output];
}

/// Takes a value, as a copy unless `owner` keeps its memory.
Result<NamedTensor> take_tensor(const intarsia_tensor& value, std::shared_ptr<void> owner, BufferPool& pool) {
  TRY(check_sizes("value", &value, 1));
  intarsia_tensor named_value = value;
  named_value.struct_size = sizeof(named_value);
  if (named_value.name == nullptr) named_value.name = "";
  NamedTensor named;
  Tensor strings;
  TRY(read_input(named_value, nullptr, nullptr, named, strings));
  TRY(checked_elements(named.tensor.shape));
  if (named.tensor.dtype == DType::string) {
    named.owner = strings.owner();
    return named;
  }
  const size_t bytes = named.tensor.bytes();
  if (bytes > 0 && named.tensor.data == nullptr) return fail("it has no data");
  if (owner != nullptr) {
    named.owner = std::move(owner);
    return named;
  }
  FrameValue copy = TRY(pool.copy(named.tensor));
  named.tensor = std::move(copy.tensor);
  named.owner = std::move(copy.owner);
  return named;
}

}  // namespace

Result<std::vector<std::unique_ptr<Stage>>> make_callable_stages(const intarsia_stage_function& about) {
  if (about.run == nullptr) return fail("its function is a null pointer");
  constexpr uint32_t most_threads = 1024;
  if (about.thread_count > most_threads)
    return fail("its thread_count is {}, want at most {}", about.thread_count, most_threads);
  std::optional<CoreSet> cores;
  if (about.cores != nullptr) cores = TRY(with_context(usable_cores(about.cores), "cores '{}'", about.cores));
  auto callable = std::make_shared<Callable>(about.run, about.user, about.release, about.output_count);
  callable->inputs = TRY(read_ports(about.inputs, about.input_count, "input"));
  callable->may_repeat = about.never_repeats == 0;
  callable->outputs = TRY(read_ports(about.outputs, about.output_count, "output"));
  std::vector<std::unique_ptr<Stage>> stages;
  for (uint32_t i = 0; i < std::max(about.thread_count, 1u); ++i)
    stages.push_back(std::make_unique<CallableStage>(callable, cores));
  callable->released.arm();
  return stages;
}

}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

uint64_t intarsia_stage_call_frame(const intarsia_stage_call* call) {
  return call == nullptr ? 0 : call->frame;
}

intarsia_error* intarsia_stage_call_allocate(intarsia_stage_call* call, size_t output, int32_t dtype,
                                             size_t rank, const int64_t* shape, void** data) {
  return guarded([&]() -> Status {
    NamedTensor& made = *TRY(find_output(call, output));
    if (data == nullptr || (rank > 0 && shape == nullptr))
      return fail("intarsia_stage_call_allocate got a null pointer");
    if (dtype <= 0 || dtype >= dtype_count || dtype == INTARSIA_STRING)
      return fail("output '{}': dtype {} has no memory to allocate", made.name, dtype);
    const Shape sizes(shape, shape + rank);
    const auto allocate = [&]() -> Result<FrameValue> {
      TRY(checked_elements(sizes));
      return call->callable->pools[output].make(static_cast<DType>(dtype), sizes);
    };
    FrameValue value = TRY(with_context(allocate(), "output '{}'", made.name));
    made.tensor = std::move(value.tensor);
    made.owner = std::move(value.owner);
    *data = made.tensor.data;
    call->given[output] = true;
    return {};
  });
}

intarsia_error* intarsia_stage_call_give(intarsia_stage_call* call, size_t output,
                                         const intarsia_tensor* value, intarsia_release release, void* user) {
  return guarded([&]() -> Status {
    NamedTensor& made = *TRY(find_output(call, output));
    if (value == nullptr) return fail("output '{}': the value is a null pointer", made.name);
    std::shared_ptr<Release> owner;
    if (release != nullptr) owner = std::make_shared<Release>(release, user);
    NamedTensor taken = TRY(
        with_context(take_tensor(*value, owner, call->callable->pools[output]), "output '{}'", made.name));
    if (owner != nullptr) owner->arm();
    made.tensor = std::move(taken.tensor);
    made.owner = std::move(taken.owner);
    call->given[output] = true;
    return {};
  });
}

intarsia_error* intarsia_stage_call_keep(intarsia_stage_call* call, size_t input, intarsia_tensor* kept) {
  return guarded([&]() -> Status {
    if (call == nullptr || kept == nullptr) return fail("intarsia_stage_call_keep got a null pointer");
    if (input >= call->inputs.size())
      return fail("no input {}; the stage has {}", input, call->inputs.size());
    TRY(check_sizes("value", kept, 1));
    intarsia_tensor made{};
    made.struct_size = sizeof(made);
    TRY(write_output(call->inputs[input], nullptr, nullptr, made));
    made.name = kept->name;
    const size_t size = kept->struct_size;
    std::memcpy(kept, &made, std::min(size, sizeof(made)));
    kept->struct_size = size;
    return {};
  });
}

void intarsia_stage_call_fail(intarsia_stage_call* call, const char* message) {
  if (call != nullptr) call->status = fail("{}", message == nullptr ? "it failed" : message);
}

void intarsia_stage_call_drop(intarsia_stage_call* call, const char* reason) {
  if (call == nullptr) return;
  call->status =
      fail(ErrorKind::dropped, "dropped by the stage: {}", reason == nullptr ? "it is not wanted" : reason);
}
