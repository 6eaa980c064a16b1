#include "measure/limit_loading.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/code/worker_process.h"

namespace intarsia {
namespace {

constexpr std::chrono::milliseconds between_looks(5);

double limit_for(const std::string& program, const LoadingLimits& limits) {
  constexpr double gigabyte = 1e9;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(program, error);
  return limits.cpu_seconds +
         (error ? 0 : static_cast<double>(bytes) / gigabyte * limits.cpu_seconds_of_gigabyte);
}

Status judge(const WorkerEnd& end, double cpu_seconds) {
  if (end.is_out_of_time())
    return fail(ErrorKind::timed_out, "given up: loading it takes more than {:.3g} s of CPU time",
                cpu_seconds);
  return end.is_killed() ? fail("given up: {}", end.describe("loading it")) : Status();
}

}  // namespace

tl::unexpected<Error> no_time_left() {
  return fail(ErrorKind::cancelled, "given up: the time to measure is over (--tune-seconds)");
}

std::vector<Status> limit_loading(const std::vector<std::string>& programs, const LoadingLimits& limits) {
  std::vector<Result<std::unique_ptr<WorkerProcess>>> workers;
  std::vector<double> cpu_seconds;
  for (const std::string& program : programs) {
    cpu_seconds.push_back(limit_for(program, limits));
    workers.push_back(WorkerProcess::start(
        "intarsia-load", {program, std::to_string(limits.threads), std::to_string(cpu_seconds.back())}, -1));
  }
  std::vector<Status> results(programs.size());
  const auto is_running = [&](size_t i) { return workers[i] && *workers[i] != nullptr; };
  const auto look = [&](size_t i) {
    const std::optional<WorkerEnd> end = (*workers[i])->find_end();
    if (!end) return;
    results[i] = judge(*end, cpu_seconds[i]);
    workers[i]->reset();
  };
  for (size_t i = 0; i < programs.size(); ++i) {
    if (!workers[i]) results[i] = tl::unexpected(workers[i].error());
    while (is_running(i)) {
      if (limits.may_go_on && !limits.may_go_on()) {
        results[i] = no_time_left();
        break;
      }
      look(i);
      if (is_running(i)) std::this_thread::sleep_for(between_looks);
    }
  }
  return results;
}

}  // namespace intarsia
