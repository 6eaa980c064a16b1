#include "measure/time_programs.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/fill_tensor.h"
#include "runtime/allocate_value.h"
#include "runtime/session.h"

namespace intarsia {
namespace {

constexpr int64_t turn_nanoseconds = 5'000'000;  // a turn of a fast program is many runs
constexpr int64_t max_runs_per_turn = 500;
constexpr int64_t all_turns_nanoseconds =
    3'000'000'000;  // of all programs together, as far as fewest_rounds allows
constexpr int64_t fewest_rounds = 4, max_rounds = 15;
/// A program that takes so many times as long as the fastest has one turn only: nothing will change that.
constexpr int64_t hopeless = 3;

void fill_words(const TensorView& tensor) {
  static const char* const words[] = {"the", "quick", "fox", "jumps", "over"};
  size_t next = 0;
  for (std::string& text : tensor.as<std::string>()) text = words[next++ % std::size(words)];
}

/// A program with everything that a run needs.
class Contestant {
 public:
  static Result<Contestant> open(const std::string& path, std::span<const RunBackend> backends, int threads) {
    const auto program = TRY(load_program(path, backends));
    if (program->description().functions.size() != 1) return fail("a plan has one function");
    const BindOptions options{.devices = {}, .threads = threads, .may_stand_in = true};
    Contestant one(TRY(Session::create(TRY(bind_program(program, options)))));
    TRY(one.make_inputs());
    one.make_outputs();
    one.regions_.resize(program->description().regions.size());
    return one;
  }

  /// Nanoseconds.
  Result<int64_t> run() {
    for (size_t i = 0; i < outputs_.size(); ++i)
      outputs_[i] = {function().values[function().outputs[i]]->name, made(i), nullptr};
    const int64_t begin = clock_nanoseconds();
    TRY(session_.run({}, inputs_, outputs_));
    return clock_nanoseconds() - begin;
  }

  /// The first run finds the caches as the others left them; if there is only one run, the traced run goes
  /// before it.
  Status take_turn() {
    for (int64_t i = 0; i < runs_a_turn_; ++i) {
      if (i == runs_a_turn_ / 2) TRY(run_traced());
      whole_.push_back(TRY(run()));
    }
    return {};
  }

  /// Times of regions are from other runs: frameworks run apart for their profile.
  Status profile() {
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

  /// The first runs: what fails, fails here.
  Status warm_up() {
    TRY(run());
    once_ = std::max(TRY(run()), int64_t{1});
    runs_a_turn_ = std::clamp(turn_nanoseconds / once_, int64_t{1}, max_runs_per_turn);
    return {};
  }

  int64_t once() const { return once_; }  // nanoseconds of the warm run
  int64_t turn_takes() const { return (runs_a_turn_ + 1) * once_; }

  PlanTimes times() const {
    PlanTimes times{summarize_rounds(whole_), {}, kernels_};
    for (const std::vector<int64_t>& region : regions_) times.regions.push_back(summarize_rounds(region));
    return times;
  }

 private:
  explicit Contestant(Session session) : session_(std::move(session)) {}

  const fbs::FunctionT& function() const { return *session_.program().description().functions[0]; }
  TensorView made(size_t output) const {
    return output_memory_[output] ? output_memory_[output]->view() : TensorView{};
  }

  Status make_inputs() {
    for (uint32_t id : function().inputs) {
      const fbs::ValueT& value = *function().values[id];
      const std::optional<Tensor> tensor = allocate_value(value);
      if (!tensor)
        return fail("input '{}' cannot be filled: it has no fixed shape, or is not a tensor", value.name);
      if (tensor->dtype() == DType::string)
        fill_words(tensor->view());
      else
        TRY(with_context(fill_tensor(tensor->view(), input_memory_.size()), "input '{}'", value.name));
      input_memory_.push_back(*tensor);
      inputs_.push_back({value.name, tensor->view(), nullptr});
    }
    return {};
  }

  /// Outputs of fixed shape are written to existing memory, as in a caller's loop.
  void make_outputs() {
    for (uint32_t id : function().outputs) output_memory_.push_back(allocate_value(*function().values[id]));
    outputs_.resize(output_memory_.size());
  }

  /// Regions on different devices run at once, but each has its own entry.
  Status run_traced() {
    session_.set_trace([this](const TraceEvent& event) {
      if (event.kind != "region") return;
      regions_[static_cast<size_t>(event.region)].push_back(event.end_ns - event.begin_ns);
    });
    const Result<int64_t> status = run();
    session_.set_trace({});
    TRY(status);
    return {};
  }

  Session session_;
  std::vector<Tensor> input_memory_;
  std::vector<std::optional<Tensor>> output_memory_;
  std::vector<NamedTensor> inputs_, outputs_;
  int64_t once_ = 1, runs_a_turn_ = 1;
  std::vector<int64_t> whole_;                 // nanoseconds of each run
  std::vector<std::vector<int64_t>> regions_;  // the same of each region, in a traced run
  std::vector<KernelTime> kernels_;            // of the profiled run
};

/// Calls `step` on each contestant that is still in; a failure takes it out.
template <typename Step>
void for_each_running(std::vector<Result<Contestant>>& contestants, Step step) {
  for (Result<Contestant>& one : contestants) {
    if (!one) continue;
    if (const Status status = step(*one); !status) one = tl::unexpected(status.error());
  }
}

}  // namespace

std::vector<Result<PlanTimes>> time_programs(std::vector<TemporaryFile> programs,
                                             std::span<const RunBackend> backends, int threads,
                                             const std::function<bool()>& may_go_on) {
  std::vector<Result<Contestant>> contestants;
  for (TemporaryFile& program : programs) {
    const TemporaryFile file = std::move(program);  // an open file needs no name
    contestants.push_back(Contestant::open(file.path(), backends, threads));
  }
  for_each_running(contestants, [](Contestant& one) { return one.warm_up(); });
  int64_t fastest = never, round_nanoseconds = 1;
  for_each_running(contestants, [&](Contestant& one) -> Status {
    fastest = std::min(fastest, one.once());
    return {};
  });
  const auto is_rival = [&](const Contestant& one) { return one.once() <= hopeless * fastest; };
  for_each_running(contestants, [&](Contestant& one) -> Status {
    round_nanoseconds += is_rival(one) ? one.turn_takes() : 0;
    return {};
  });
  const int64_t rounds = std::clamp(all_turns_nanoseconds / round_nanoseconds, fewest_rounds, max_rounds);
  for (int64_t round = 0; round < rounds; ++round) {
    if (round > 0 && !may_go_on()) break;
    for_each_running(contestants, [&](Contestant& one) {
      return round == 0 || is_rival(one) ? one.take_turn() : Status();
    });
  }
  for_each_running(contestants, [](Contestant& one) { return one.profile(); });
  std::vector<Result<PlanTimes>> times;
  for (const Result<Contestant>& one : contestants)
    times.push_back(one ? Result<PlanTimes>(one->times()) : Result<PlanTimes>(tl::unexpected(one.error())));
  return times;
}

}  // namespace intarsia
