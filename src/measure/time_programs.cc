#include "measure/time_programs.h"

#include <algorithm>
#include <string>
#include <thread>

#include "base/clock.h"
#include "measure/contestant.h"
#include "measure/find_faults.h"
#include "measure/limit_loading.h"
#include "measure/load_meter.h"

namespace intarsia {
namespace {

constexpr int64_t all_turns_nanoseconds =
    3'000'000'000;  // of all programs together, as far as fewest_rounds allows
constexpr int64_t fewest_rounds = 4, max_rounds = 15;
/// A program that takes so many times as long as the fastest has one turn only: nothing will change that.
constexpr int64_t hopeless = 3;
/// While other processes take cores, all turns are taken again, so often and for so long at most.
constexpr int most_attempts = 4;
constexpr int64_t all_attempts_nanoseconds = 10'000'000'000;
constexpr std::chrono::milliseconds between_attempts{300};

/// Calls `step` on each contestant that is still in; a failure takes it out.
template <typename Step>
void for_each_running(std::vector<Result<Contestant>>& contestants, Step step) {
  for (Result<Contestant>& one : contestants) {
    if (!one) continue;
    if (const Status status = step(*one); !status) one = tl::unexpected(status.error());
  }
}

/// By contestant how its values differ from those of the others; empty: they agree, or it does not run.
std::vector<std::string> compare_values(std::vector<Result<Contestant>>& contestants,
                                        const TimingOptions& options) {
  std::vector<ComputeValues> programs;
  std::vector<NamedValue> inputs;
  for (size_t i = 0; i < contestants.size(); ++i) {
    Result<Contestant>& one = contestants[i];
    if (one) inputs = one->inputs();
    if (one && options.stand_ins.contains(i)) {
      programs.emplace_back([](const auto&) { return fail("it computes nothing"); });
      continue;
    }
    programs.emplace_back([&one](const std::vector<NamedValue>& values) -> Result<std::vector<NamedValue>> {
      return one ? one->compute(values) : tl::unexpected(one.error());
    });
  }
  return find_faults(programs, inputs, {.rtol = options.rtol, .trusted = options.trusted});
}

/// Those in frameworks first in processes of their own.
std::vector<Result<Contestant>> open_all(std::vector<TemporaryFile> programs,
                                         std::span<const RunBackend> backends, const TimingOptions& options) {
  std::vector<std::string> limited;
  for (size_t i : options.in_frameworks) limited.push_back(programs[i].path());
  const std::vector<Status> loadable =
      limit_loading(limited, {.threads = options.threads, .may_go_on = options.may_go_on});
  auto next = loadable.begin();
  std::vector<Result<Contestant>> contestants;
  for (size_t i = 0; i < programs.size(); ++i) {
    const TemporaryFile file = std::move(programs[i]);  // an open file needs no name
    Status status = options.in_frameworks.contains(i) ? *next++ : Status();
    if (status && i > 0 && !options.may_go_on()) status = no_time_left();
    contestants.push_back(status ? Contestant::open(file.path(), backends, options.threads)
                                 : Result<Contestant>(tl::unexpected(status.error())));
  }
  return contestants;
}

/// All take turns.
void take_turns(std::vector<Result<Contestant>>& contestants, const TimingOptions& options) {
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
    if (round > 0 && !options.may_go_on()) break;
    for_each_running(contestants, [&](Contestant& one) {
      return round == 0 || is_rival(one) ? one.take_turn() : Status();
    });
  }
}

/// Until no other process took cores while all had their turns. False: others never stopped. The least time
/// counts, so that the turns of a disturbed attempt do no harm to those of the last one.
bool take_undisturbed_turns(std::vector<Result<Contestant>>& contestants, const TimingOptions& options) {
  const int64_t begin = clock_nanoseconds();
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (attempt > 0) {
      if (clock_nanoseconds() - begin > all_attempts_nanoseconds || !options.may_go_on()) return false;
      std::this_thread::sleep_for(between_attempts);
    }
    const LoadMeter meter;
    take_turns(contestants, options);
    if (!meter.is_disturbed(options.threads)) return true;
  }
  return false;
}

}  // namespace

std::vector<Result<PlanTimes>> time_programs(std::vector<TemporaryFile> programs,
                                             std::span<const RunBackend> backends,
                                             const TimingOptions& options) {
  std::vector<Result<Contestant>> contestants = open_all(std::move(programs), backends, options);
  for_each_running(contestants, [](Contestant& one) { return one.warm_up(); });
  const bool is_disturbed = !take_undisturbed_turns(contestants, options);
  for_each_running(contestants, [](Contestant& one) { return one.profile(); });
  const std::vector<std::string> faults = compare_values(contestants, options);
  std::vector<Result<PlanTimes>> times;
  for (size_t i = 0; i < contestants.size(); ++i) {
    const Result<Contestant>& one = contestants[i];
    times.push_back(one ? Result<PlanTimes>(one->times(is_disturbed))
                        : Result<PlanTimes>(tl::unexpected(one.error())));
    if (one && !faults[i].empty()) times.back()->fault = "its values are wrong: " + faults[i];
  }
  return times;
}

}  // namespace intarsia
