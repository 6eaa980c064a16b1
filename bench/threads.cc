// Sharing of the cores by sessions: two sessions at once against one after the other, and a run with as many
// threads as cores while a foreign process keeps one of them busy, against a run in one thread. Prints one
// JSON object; aims: at least 0.95 of the throughput, and at most 1.1 times as long.
//
// Open sizes are 1.
//
//   build/bin/bench_threads PROGRAM [ROUNDS]
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "api/run_backends.h"
#include "base/clock.h"
#include "base/fill_tensor.h"
#include "runtime/session.h"

namespace {

using namespace intarsia;

/// Session with its arguments.
class Runner {
 public:
  static Result<Runner> make(const std::shared_ptr<const LoadedProgram>& program, int threads) {
    Runner runner(TRY(Session::create(TRY(bind_program(program, {.devices = {}, .threads = threads})))));
    const fbs::FunctionT& function = *program->description().functions[0];
    TRY(runner.add(function, function.inputs, runner.inputs_, true));
    TRY(runner.add(function, function.outputs, runner.outputs_, false));
    return runner;
  }

  /// Runs several times; returns nanoseconds.
  Result<int64_t> run(int times) {
    const int64_t begin = clock_nanoseconds();
    for (int i = 0; i < times; ++i) TRY(session_.run("", inputs_, outputs_));
    return clock_nanoseconds() - begin;
  }

 private:
  explicit Runner(Session session) : session_(std::move(session)) {}

  Status add(const fbs::FunctionT& function, const std::vector<uint32_t>& values,
             std::vector<NamedTensor>& arguments, bool fill) {
    for (uint32_t id : values) {
      const fbs::ValueT& value = *function.values[id];
      if (value.dtype == 0) return fail("'{}' is not a tensor", value.name);
      std::vector<int64_t> dims = value.dims;
      std::ranges::replace_if(dims, [](int64_t size) { return size < 0; }, 1);
      const Tensor& tensor = memory_.emplace_back(static_cast<DType>(value.dtype), dims);
      if (fill) TRY(fill_tensor(tensor.view(), memory_.size()));
      arguments.push_back({value.name, tensor.view(), nullptr});
    }
    return {};
  }

  Session session_;
  std::vector<Tensor> memory_;
  std::vector<NamedTensor> inputs_, outputs_;
};

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

/// Process that computes on the last core of this one until it is destroyed.
class BusyProcess {
 public:
  BusyProcess() : child_(fork()) {
    if (child_ != 0) return;
    const std::string cores = CoreSet::of_this_thread().text();
    static_cast<void>(CoreSet::parse(cores.substr(cores.find_last_of("-+") + 1))->bind_this_thread());
    for (std::atomic<uint64_t> i = 0;;) i.fetch_add(1, std::memory_order_relaxed);
  }
  ~BusyProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

 private:
  pid_t child_;
};

/// Returns the throughput of two sessions at once as a part of that in turn; both do the same work.
Result<double> share_cores(Runner& one, Runner& other, int times) {
  const int64_t in_turn = TRY(one.run(times)) + TRY(other.run(times));
  Result<int64_t> first = 0, second = 0;
  const int64_t begin = clock_nanoseconds();
  std::thread thread([&] { second = other.run(times); });
  first = one.run(times);
  thread.join();
  const int64_t at_once = clock_nanoseconds() - begin;
  TRY(first);
  TRY(second);
  return static_cast<double>(in_turn) / static_cast<double>(at_once);
}

Status measure(const std::string& path, int rounds) {
  const auto program = TRY(load_program(path, run_backends()));
  const int cores = CoreSet::of_this_thread().size();
  Runner one = TRY(Runner::make(program, cores)), other = TRY(Runner::make(program, cores));
  Runner alone = TRY(Runner::make(program, 1));
  TRY(other.run(1));
  const int64_t once = TRY(one.run(2)) / 2;
  const int times = static_cast<int>(std::max(int64_t{200'000'000} / once, int64_t{1}));  // 0.2 s
  std::vector<double> at_once, with_busy, speed_up;
  for (int round = 0; round < rounds; ++round) {
    at_once.push_back(TRY(share_cores(one, other, times)));
    const auto quiet = static_cast<double>(TRY(alone.run(times)));
    speed_up.push_back(quiet / static_cast<double>(TRY(one.run(times))));
    const BusyProcess busy;
    const auto single = static_cast<double>(TRY(alone.run(times)));
    with_busy.push_back(static_cast<double>(TRY(one.run(times))) / single);
  }
  std::printf("%s\n", fmt::format("{{\"threads\": {}, \"runs\": {}, \"rounds\": {}, \"speed_up\": {:.2f}, "
                                  "\"throughput_at_once\": {:.3f}, \"time_beside_busy_process\": {:.3f}}}",
                                  cores, times, rounds, median(speed_up), median(at_once), median(with_busy))
                          .c_str());
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "error: want a program: bench_threads PROGRAM [ROUNDS]\n");
    return 2;
  }
  const Status status = measure(arguments[1], count > 2 ? std::atoi(arguments[2]) : 7);
  if (!status) std::fprintf(stderr, "error: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
