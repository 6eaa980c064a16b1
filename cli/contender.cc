#include "contender.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <intarsia/intarsia_compile.hpp>
#include <list>
#include <numeric>
#include <thread>

#include "npy.h"
#include "profile.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// In a contender's own process: a model or program, opened with its inputs.
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

  Json write_outputs(const std::string& folder) const {
    Json written = Json::array();
    for (const intarsia::Value& value : outputs_()) {
      const std::string file =
          (std::filesystem::path(folder) / fmt::format("{}.npy", written.size())).string();
      if (value.kind() != INTARSIA_TENSOR) throw intarsia::Error("has outputs that are not tensors");
      std::filesystem::create_directories(folder);
      write_npy(file, value.tensor());
      written.push_back({{"name", value.tensor().name}, {"dtype", value.dtype()}, {"file", file}});
    }
    return written;
  }

  /// Milliseconds of each run.
  std::vector<double> run(size_t count) const {
    std::vector<double> milliseconds;
    for (size_t i = 0; i < count; ++i) {
      const auto start = Clock::now();
      run_();
      milliseconds.push_back(seconds_since(start) * 1000);
    }
    return milliseconds;
  }

  const std::string& version() const { return version_; }
  // Of a program; null for other runtimes.
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
                                            work["signature"], work["op_libraries"]));
    version_ = peer->version();
    run_ = [peer] { peer->run(); };
    outputs_ = [peer] { return peer->outputs(); };
  }

  std::list<Array> arrays_;
  std::vector<intarsia::NamedView> inputs_;  // of `arrays_`
  std::string version_;
  std::shared_ptr<intarsia::Session> session_;
  std::function<void()> run_;
  std::function<std::vector<intarsia::Value>()> outputs_;
};

/// {"open": work} opens, {"runs": N} times N runs, {"profile": true} tells what a run spends its time on.
Json serve(const std::string& runtime, const std::string& configuration, std::shared_ptr<OpenedWork>& opened,
           const Json& request) {
  if (request.contains("runs")) return opened->run(request["runs"]);
  if (request.contains("profile")) return opened->profile();
  const Json& work = request["open"];
  opened = std::make_shared<OpenedWork>(runtime, configuration, work);
  return {{"version", opened->version()},
          {"alternative", opened->alternative()},
          {"outputs", opened->write_outputs(work["folder"])}};
}

/// The value below which a part of the sorted numbers lies, by nearest rank.
double percentile(const std::vector<double>& sorted, double part) {
  const double rank = std::ceil(part * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

constexpr auto pause = std::chrono::milliseconds(100);

/// Waits until each thread has its own core, but no longer than `most` seconds. Returns the seconds.
double wait_for_cores(int threads, double most) {
  const auto start = Clock::now();
  while (!intarsia::Compiler::get().has_free_cores(threads) && seconds_since(start) < most)
    std::this_thread::sleep_for(pause);
  return seconds_since(start);
}

std::vector<double> sorted(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

Contender::Contender(std::string runtime, std::string configuration)
    : runtime_(std::move(runtime)), configuration_(std::move(configuration)) {
  std::shared_ptr<OpenedWork> opened;
  worker_ = std::make_unique<Worker>(runtime_, [this, opened](const Json& request) mutable {
    return serve(runtime_, configuration_, opened, request);
  });
}

Json Contender::open(const Work& work) {
  const Json reply = worker_->ask({{"open",
                                    {{"path", work.path},
                                     {"threads", work.threads},
                                     {"inputs", work.inputs},
                                     {"signature", work.signature},
                                     {"op_libraries", work.op_libraries},
                                     {"folder", work.folder + "/" + runtime_ + configuration_}}}});
  version_ = reply["version"];
  alternative_ = reply["alternative"];
  constexpr size_t min_runs = 10;
  constexpr double min_round_ms = 50;
  const std::vector<double> first = sorted(worker_->ask({{"runs", 1}}));
  runs_per_round_ = std::max(min_runs, static_cast<size_t>(min_round_ms / std::max(first[0], 1e-3)));
  return reply["outputs"];
}

void Contender::run_round(const std::vector<std::unique_ptr<Contender>>& all) {
  constexpr double idle = 0.01;  // of a core
  std::vector<double> before;
  for (const auto& contender : all) before.push_back(contender->worker_->cpu_seconds());
  const auto start = Clock::now();
  const std::vector<double> milliseconds = worker_->ask({{"runs", runs_per_round_}});
  const double seconds = seconds_since(start);
  double own = 0;
  std::string disturber;
  for (size_t i = 0; i < all.size(); ++i) {
    const double used = all[i]->worker_->cpu_seconds() - before[i];
    if (all[i].get() == this) {
      own = used;
    } else if (used > idle * seconds) {
      disturber = fmt::format("{} used {:.0f}% of a core while {} ran", all[i]->runtime_,
                              100 * used / seconds, runtime_);
    }
  }
  if (!disturber.empty()) {
    disturber_ = disturber;
    ++discarded_;
    return;
  }
  ++rounds_;
  cpu_seconds_ += own;
  milliseconds_.insert(milliseconds_.end(), milliseconds.begin(), milliseconds.end());
}

Json Contender::profile() { return worker_->ask({{"profile", true}}); }

double Contender::median_ms() const { return percentile(sorted(milliseconds_), 0.5); }

Json Contender::report() const {
  const std::vector<double> times = sorted(milliseconds_);
  const double count = static_cast<double>(times.size());
  const double total = std::accumulate(times.begin(), times.end(), 0.0);
  return {{"runtime", runtime_},
          {"version", version_},
          {"configuration", configuration_.empty() ? Json(nullptr) : Json(configuration_)},
          {"runs", times.size()},
          {"rounds", rounds_},
          {"discarded_rounds", discarded_},
          {"min_ms", times.front()},
          {"median_ms", percentile(times, 0.5)},
          {"p99_ms", percentile(times, 0.99)},
          {"cpu_ms", cpu_seconds_ * 1000 / count},
          {"throughput_per_s", 1000 * count / total},
          {"peak_rss_mb", worker_->peak_rss_mb()}};
}

double measure(const std::vector<std::unique_ptr<Contender>>& contenders, int threads, double seconds,
               const std::function<void(double)>& progress) {
  constexpr size_t min_rounds = 3, max_turns_without = 10;
  const auto start = Clock::now();
  double waited = 0;
  for (size_t turn = 0;; ++turn) {
    const auto fewest =
        std::min_element(contenders.begin(), contenders.end(),
                         [](const auto& a, const auto& b) { return a->rounds() < b->rounds(); });
    const size_t rounds = (*fewest)->rounds();
    const double by_rounds = static_cast<double>(rounds) / min_rounds;
    const double done = std::min((seconds_since(start) - waited) / seconds, by_rounds);
    progress(std::min(done, 1.0));
    if (done >= 1) return waited;
    if (turn > max_turns_without + min_rounds * (rounds + 1)) {
      throw intarsia::Error(
          fmt::format("nothing to compare: {}, and so in all but {} of {} rounds; try again",
                      (*fewest)->disturber(), rounds, turn));
    }
    waited += wait_for_cores(threads, 3 * seconds - waited);
    for (const auto& contender : contenders) {
      std::this_thread::sleep_for(pause);
      contender->run_round(contenders);
    }
  }
}
