#include "measure/benchmark_subject.h"

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "base/fill_tensor.h"
#include "runtime/allocate_value.h"

namespace intarsia {
namespace {

constexpr int64_t turn_nanoseconds = 5'000'000;  // length of a turn, which for a fast program is many runs
constexpr int64_t max_runs_per_turn = 500;

void fill_words(const TensorView& tensor) {
  static const char* const words[] = {"the", "quick", "fox", "jumps", "over"};
  size_t next = 0;
  for (std::string& text : tensor.as<std::string>()) text = words[next++ % std::size(words)];
}

}  // namespace

Result<BenchmarkSubject> BenchmarkSubject::open(const std::string& path, std::span<const RunBackend> backends,
                                                int threads) {
  const auto program = TRY(load_program(path, backends));
  if (program->description().functions.size() != 1) return fail("a plan has one function");
  const BindOptions options{.devices = {}, .threads = threads, .may_stand_in = true};
  BenchmarkSubject one(TRY(Session::create(TRY(bind_program(program, options)))));
  TRY(one.make_inputs());
  one.make_outputs();
  one.regions_.resize(program->description().regions.size());
  return one;
}

Status BenchmarkSubject::make_inputs() {
  for (uint32_t id : function().inputs) {
    const fbs::ValueT& value = *function().values[id];
    const std::optional<Tensor> tensor = allocate_value(value);
    if (!tensor)
      return fail("input '{}' cannot be filled: it has no fixed shape, or is not a tensor", value.name);
    if (tensor->dtype() == DType::string)
      fill_words(tensor->view());
    else
      TRY(with_context(fill_tensor(tensor->view(), input_memory_.size(), value.index_limit), "input '{}'",
                       value.name));
    input_memory_.push_back(*tensor);
    inputs_.push_back({value.name, tensor->view(), nullptr});
  }
  return {};
}

/// Makes memory for outputs of fixed shape, to which runs write as in a caller's loop.
void BenchmarkSubject::make_outputs() {
  for (uint32_t id : function().outputs) output_memory_.push_back(allocate_value(*function().values[id]));
  outputs_.resize(output_memory_.size());
}

TensorView BenchmarkSubject::memory_of(size_t output) const {
  return output_memory_[output] ? output_memory_[output]->view() : TensorView{};
}

Result<int64_t> BenchmarkSubject::run() {
  for (size_t i = 0; i < outputs_.size(); ++i)
    outputs_[i] = {function().values[function().outputs[i]]->name, memory_of(i), nullptr};
  const int64_t begin = clock_nanoseconds();
  TRY(session_.run({}, inputs_, outputs_));
  return clock_nanoseconds() - begin;
}

/// Runs with region times. Regions on different devices run at once, but each has its own entry.
Status BenchmarkSubject::run_traced() {
  session_.set_trace([this](const TraceEvent& event) {
    if (event.kind != "region" && event.kind != "bodies") return;
    regions_[static_cast<size_t>(event.region)].push_back(event.end_ns - event.begin_ns);
  });
  const Result<int64_t> status = run();
  session_.set_trace({});
  TRY(status);
  return {};
}

Status BenchmarkSubject::warm_up() {
  TRY(run());
  once_ = std::max(TRY(run()), int64_t{1});
  runs_a_turn_ = std::clamp(turn_nanoseconds / once_, int64_t{1}, max_runs_per_turn);
  return {};
}

Status BenchmarkSubject::take_turn() {
  for (int64_t i = 0; i < runs_a_turn_; ++i) {
    if (i == runs_a_turn_ / 2) TRY(run_traced());
    whole_.push_back(TRY(run()));
  }
  return {};
}

Status BenchmarkSubject::profile() {
  std::mutex mutex;
  session_.set_trace(
      [&](const TraceEvent& event) {
        if (event.kind != "kernel") return;
        const std::lock_guard lock(mutex);
        kernels_.push_back({static_cast<uint32_t>(event.region), std::string(event.name),
                            std::max(event.end_ns - event.begin_ns, int64_t{1})});
      },
      true);
  const Result<int64_t> status = run();
  session_.set_trace({});
  TRY(status);
  return {};
}

PlanTimes BenchmarkSubject::times(bool is_disturbed) const {
  PlanTimes times{summarize_rounds(whole_), {}, kernels_};
  times.whole.is_disturbed = is_disturbed;
  for (const std::vector<int64_t>& region : regions_) {
    times.regions.push_back(summarize_rounds(region));
    times.regions.back().is_disturbed = is_disturbed;
  }
  return times;
}

int64_t BenchmarkSubject::least() const { return whole_.empty() ? once_ : std::ranges::min(whole_); }

std::vector<NamedValue> BenchmarkSubject::inputs() const {
  std::vector<NamedValue> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i)
    inputs.push_back({std::string(inputs_[i].name), input_memory_[i]});
  return inputs;
}

Result<std::vector<NamedValue>> BenchmarkSubject::compute(const std::vector<NamedValue>& inputs) {
  std::vector<NamedTensor> from, to;
  for (const NamedValue& input : inputs) from.push_back({input.name, input.tensor.view(), nullptr});
  for (uint32_t id : function().outputs) to.push_back({function().values[id]->name, {}, nullptr});
  TRY(session_.run({}, from, to));
  std::vector<NamedValue> outputs;
  for (size_t i = 0; i < to.size(); ++i) {
    if (function().values[function().outputs[i]]->dtype == 0) continue;
    outputs.push_back({std::string(to[i].name), Tensor(to[i].tensor)});
  }
  return outputs;
}

}  // namespace intarsia
