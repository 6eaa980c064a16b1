#include "cli/commands/latency_contender.h"

#include <algorithm>
#include <chrono>
#include <intarsia/intarsia_compile.hpp>
#include <list>
#include <numeric>

#include "cli/inputs/npy.h"
#include "cli/results/profile.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Model or program, opened with its inputs in a contender's own process.
class OpenedWork {
 public:
  OpenedWork(const std::string& runtime, const std::string& configuration, const Json& work) {
    for (const Json& input : work["inputs"]) {
      arrays_.push_back(read_npy(input["file"], input["dtype"]));
      inputs_.emplace_back(input["name"], arrays_.back().view());
    }
    if (runtime == "intarsia") {
      open_program(work["path"], work["threads"]);
      version_ = intarsia_version();
    } else {
      open_peer(runtime, configuration, work);
    }
    constexpr int warm_up = 3;
    for (int i = 0; i < warm_up; ++i) run_();
  }

  std::vector<intarsia::Value> outputs() const { return outputs_(); }

  /// Returns the milliseconds of each run.
  std::vector<double> run(size_t count) const {
    std::vector<double> milliseconds;
    for (size_t i = 0; i < count; ++i) {
      const auto start = Clock::now();
      run_();
      milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return milliseconds;
  }

  const std::string& version() const { return version_; }
  // Returns the alternative of a program; null for other runtimes.
  Json alternative() const { return session_ ? describe_alternative(session_->alternative()) : Json(); }
  Json profile() const { return session_ ? describe_profile(session_->profile(inputs_)) : Json(); }

 private:
  void open_program(const std::string& path, int threads) {
    const auto program = intarsia::Program::load(path);
    const intarsia::Function function = program.functions().at(0);
    session_ = std::make_shared<intarsia::Session>(program.bind({}, threads));
    std::vector<std::string> names;
    for (const intarsia::Argument& output : function.outputs) names.push_back(output.name);
    auto outputs = std::make_shared<std::vector<intarsia::Value>>();
    run_ = [this, names, outputs] { *outputs = session_->compute(inputs_, names); };
    outputs_ = [outputs] { return std::move(*outputs); };
  }

  void open_peer(const std::string& runtime, const std::string& configuration, const Json& work) {
    auto peer = std::make_shared<intarsia::Peer>(
        intarsia::Compiler::get().open_peer(runtime, configuration, work["path"], work["threads"], inputs_,
                                            work["signature"], work["op_libraries"], precision_of(work)));
    version_ = peer->version();
    run_ = [peer] { peer->run(); };
    outputs_ = [peer] { return peer->outputs(); };
  }

  std::list<Array> arrays_;
  std::vector<intarsia::NamedView> inputs_;  // views of `arrays_`
  std::string version_;
  std::shared_ptr<intarsia::Session> session_;
  std::function<void()> run_;
  std::function<std::vector<intarsia::Value>()> outputs_;
};

/// Serves {"open": work}, {"runs": N} with the times of N runs, and {"profile": true} with what a run spends
/// its time on.
Json serve_runs(const std::string& runtime, const std::string& configuration,
                std::shared_ptr<OpenedWork>& opened, const Json& request) {
  if (request.contains("runs")) return opened->run(request["runs"]);
  if (request.contains("profile")) return opened->profile();
  const Json& work = request["open"];
  opened = std::make_shared<OpenedWork>(runtime, configuration, work);
  return {{"version", opened->version()},
          {"alternative", opened->alternative()},
          {"outputs", write_outputs(opened->outputs(), work["folder"])}};
}

}  // namespace

LatencyContender::LatencyContender(const std::string& runtime, const std::string& configuration)
    : Contender(runtime, configuration,
                [runtime, configuration, opened = std::make_shared<std::shared_ptr<OpenedWork>>()](
                    const Json& request) { return serve_runs(runtime, configuration, *opened, request); }) {}

void LatencyContender::prepare_rounds(const Json& opened) {
  alternative_ = opened["alternative"];
  constexpr size_t min_runs = 10;
  constexpr double min_round_ms = 50;
  const double first = ask({{"runs", 1}})[0];
  runs_per_round_ = std::max(min_runs, static_cast<size_t>(min_round_ms / std::max(first, 1e-3)));
}

void LatencyContender::add_round(const Json& answer, double cpu_seconds) {
  cpu_seconds_ += cpu_seconds;
  for (const Json& milliseconds : answer) milliseconds_.push_back(milliseconds);
}

Json LatencyContender::report() const {
  const std::vector<double> times = sorted(milliseconds_);
  const double count = static_cast<double>(times.size());
  const double total = std::accumulate(times.begin(), times.end(), 0.0);
  Json report = describe();
  report.update({{"runs", times.size()},
                 {"min_ms", times.front()},
                 {"median_ms", percentile(times, 0.5)},
                 {"p99_ms", percentile(times, 0.99)},
                 {"cpu_ms", cpu_seconds_ * 1000 / count},
                 {"throughput_per_s", 1000 * count / total},
                 {"peak_rss_mb", peak_rss_mb()}});
  return report;
}
