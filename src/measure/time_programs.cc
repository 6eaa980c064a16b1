#include "measure/time_programs.h"

#include <algorithm>
#include <string>
#include <thread>

#include "base/clock.h"
#include "measure/benchmark_subject.h"
#include "measure/find_faults.h"
#include "measure/limit_loading.h"
#include "measure/load_meter.h"

namespace intarsia {
namespace {

constexpr int64_t all_turns_nanoseconds = 3'000'000'000;  // sum of all programs, if fewest_rounds allows
constexpr int64_t fewest_rounds = 4, max_rounds = 40;
/// Factors by which programs are slower than the fastest and therefore out of the race, after a first run and
/// after the fewest rounds: more turns would not change that.
constexpr double hopeless_at_first = 2, hopeless_later = 1.25;
/// Limits on how often and how long all turns are taken again while other processes take cores.
constexpr int most_attempts = 4;
constexpr int64_t all_attempts_nanoseconds = 10'000'000'000;
constexpr std::chrono::milliseconds between_attempts{300};

/// Calls `step` on each program that is still in the race; a failure takes it out.
template <typename Step>
void for_each_running(std::vector<Result<BenchmarkSubject>>& subjects, Step step) {
  for (Result<BenchmarkSubject>& one : subjects) {
    if (!one) continue;
    if (const Status status = step(*one); !status) one = tl::unexpected(status.error());
  }
}

/// Returns, by program, how its values differ from the others'; empty if they agree, or it does not run.
std::vector<std::string> compare_values(std::vector<Result<BenchmarkSubject>>& subjects,
                                        const TimingOptions& options) {
  std::vector<ComputeValues> programs;
  std::vector<NamedValue> inputs;
  for (size_t i = 0; i < subjects.size(); ++i) {
    Result<BenchmarkSubject>& one = subjects[i];
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

/// Opens the programs, those in frameworks first in processes of their own.
std::vector<Result<BenchmarkSubject>> open_all(std::vector<TemporaryFile> programs,
                                               std::span<const RunBackend> backends,
                                               const TimingOptions& options) {
  std::vector<std::string> limited;
  for (size_t i : options.in_frameworks) limited.push_back(programs[i].path());
  const std::vector<Status> loadable =
      limit_loading(limited, {.threads = options.threads, .may_go_on = options.may_go_on});
  auto next = loadable.begin();
  std::vector<Result<BenchmarkSubject>> subjects;
  for (size_t i = 0; i < programs.size(); ++i) {
    const TemporaryFile file = std::move(programs[i]);  // an open file needs no name
    Status status = options.in_frameworks.contains(i) ? *next++ : Status();
    if (status && i > 0 && !options.may_go_on()) status = no_time_left();
    subjects.push_back(status ? BenchmarkSubject::open(file.path(), backends, options.threads)
                              : Result<BenchmarkSubject>(tl::unexpected(status.error())));
  }
  return subjects;
}

/// Finds the programs that may still turn out to be the fastest: those within `factor` of it by `time_of`.
template <typename TimeOf>
std::vector<BenchmarkSubject*> find_rivals(std::vector<Result<BenchmarkSubject>>& subjects, double factor,
                                           TimeOf time_of) {
  int64_t fastest = never;
  for (const Result<BenchmarkSubject>& one : subjects) {
    if (one) fastest = std::min(fastest, time_of(*one));
  }
  std::vector<BenchmarkSubject*> rivals;
  for (Result<BenchmarkSubject>& one : subjects) {
    if (one && static_cast<double>(time_of(*one)) <= factor * static_cast<double>(fastest))
      rivals.push_back(&*one);
  }
  return rivals;
}

/// Gives all programs a turn, and rivals more of them while there are several.
void take_turns(std::vector<Result<BenchmarkSubject>>& subjects, const TimingOptions& options) {
  for_each_running(subjects, [](BenchmarkSubject& one) { return one.take_turn(); });
  const auto at_first = [](const BenchmarkSubject& one) { return one.once(); };
  const auto by_turns = [](const BenchmarkSubject& one) { return one.least(); };
  std::vector<BenchmarkSubject*> rivals = find_rivals(subjects, hopeless_at_first, at_first);
  int64_t round_nanoseconds = 1;
  for (const BenchmarkSubject* one : rivals) round_nanoseconds += one->turn_takes();
  const int64_t rounds = std::clamp(all_turns_nanoseconds / round_nanoseconds, fewest_rounds, max_rounds);
  for (int64_t round = 1; round < rounds && options.may_go_on(); ++round) {
    if (round >= fewest_rounds) rivals = find_rivals(subjects, hopeless_later, by_turns);
    if (round >= fewest_rounds && rivals.size() < 2 && subjects.size() > 1) break;
    for_each_running(subjects, [&](BenchmarkSubject& one) {
      return std::ranges::find(rivals, &one) != rivals.end() ? one.take_turn() : Status();
    });
  }
}

/// Takes turns until no other process took cores meanwhile; returns false if others never stopped. The least
/// time counts, so that the turns of a disturbed attempt do no harm to those of the last one.
bool take_undisturbed_turns(std::vector<Result<BenchmarkSubject>>& subjects, const TimingOptions& options) {
  const int64_t begin = clock_nanoseconds();
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (attempt > 0) {
      if (clock_nanoseconds() - begin > all_attempts_nanoseconds || !options.may_go_on()) return false;
      std::this_thread::sleep_for(between_attempts);
    }
    const LoadMeter meter;
    take_turns(subjects, options);
    if (!meter.is_disturbed(options.threads)) return true;
  }
  return false;
}

}  // namespace

std::vector<Result<PlanTimes>> time_programs(std::vector<TemporaryFile> programs,
                                             std::span<const RunBackend> backends,
                                             const TimingOptions& options) {
  std::vector<Result<BenchmarkSubject>> subjects = open_all(std::move(programs), backends, options);
  for_each_running(subjects, [](BenchmarkSubject& one) { return one.warm_up(); });
  const bool is_disturbed = !take_undisturbed_turns(subjects, options);
  for_each_running(subjects, [](BenchmarkSubject& one) { return one.profile(); });
  const std::vector<std::string> faults = compare_values(subjects, options);
  std::vector<Result<PlanTimes>> times;
  for (size_t i = 0; i < subjects.size(); ++i) {
    const Result<BenchmarkSubject>& one = subjects[i];
    times.push_back(one ? Result<PlanTimes>(one->times(is_disturbed))
                        : Result<PlanTimes>(tl::unexpected(one.error())));
    if (one && !faults[i].empty()) times.back()->fault = "its values are wrong: " + faults[i];
  }
  return times;
}

}  // namespace intarsia
