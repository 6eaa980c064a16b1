#include "cli/commands/contender.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <intarsia/intarsia_compile.hpp>
#include <thread>

#include "cli/inputs/npy.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr auto pause = std::chrono::milliseconds(100);

/// Waits until each thread has its own core, but at most `most` seconds. Returns the seconds waited.
double wait_for_cores(int threads, double most) {
  const auto start = Clock::now();
  while (!intarsia::Compiler::get().has_free_cores(threads) && seconds_since(start) < most)
    std::this_thread::sleep_for(pause);
  return seconds_since(start);
}

}  // namespace

Json write_outputs(const std::vector<intarsia::Value>& outputs, const std::string& folder) {
  Json written = Json::array();
  for (const intarsia::Value& value : outputs) {
    const std::string file = (std::filesystem::path(folder) / fmt::format("{}.npy", written.size())).string();
    if (value.kind() != INTARSIA_TENSOR) throw intarsia::Error("has outputs that are not tensors");
    std::filesystem::create_directories(folder);
    write_npy(file, value.tensor());
    written.push_back({{"name", value.tensor().name}, {"dtype", value.dtype()}, {"file", file}});
  }
  return written;
}

double percentile(const std::vector<double>& sorted, double part) {
  const double rank = std::ceil(part * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

std::vector<double> sorted(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Contender::Contender(std::string runtime, std::string configuration, const Serve& serve)
    : runtime_(std::move(runtime)), configuration_(std::move(configuration)), worker_(runtime_, serve) {}

intarsia::Precision precision_of(const Json& work) {
  return intarsia::detail::choice_of<intarsia::Precision>(work["precision"].get<std::string>(), "precision");
}

Json Contender::open(const Work& work) {
  const Json reply = ask({{"open",
                           {{"path", work.path},
                            {"threads", work.threads},
                            {"inputs", work.inputs},
                            {"signature", work.signature},
                            {"op_libraries", work.op_libraries},
                            {"precision", work.precision},
                            {"devices", work.devices},
                            {"folder", work.folder}}}});
  version_ = reply["version"];
  prepare_rounds(reply);
  return reply["outputs"];
}

void Contender::run_round(const Contenders& all) {
  constexpr double idle = 0.01;  // part of a core
  std::vector<double> before;
  for (const auto& contender : all) before.push_back(contender->worker_.cpu_seconds());
  const auto start = Clock::now();
  const Json answer = ask(round_request());
  const double seconds = seconds_since(start);
  double own = 0;
  std::string disturber;
  for (size_t i = 0; i < all.size(); ++i) {
    const double used = all[i]->worker_.cpu_seconds() - before[i];
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
  add_round(answer, own);
}

Json Contender::describe() const {
  return {{"runtime", runtime_},
          {"version", version_},
          {"configuration", configuration_.empty() ? Json(nullptr) : Json(configuration_)},
          {"rounds", rounds_},
          {"discarded_rounds", discarded_}};
}

double measure(const Contenders& contenders, int threads, double seconds,
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
