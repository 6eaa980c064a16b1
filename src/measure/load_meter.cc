#include "measure/load_meter.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/clock.h"

namespace intarsia {
namespace {

int64_t own_work() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t all_work(const CoreSet& cores) {
  const std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  return read_core_work(text.str(), cores, std::max(sysconf(_SC_CLK_TCK), 1L));
}

/// Reads the ticks of "cpu3 user nice system idle iowait irq softirq steal ..." without those of waiting.
int64_t working_ticks(std::istringstream& line) {
  constexpr int fields = 8, idle = 3, waiting = 4;
  int64_t sum = 0;
  for (int field = 0; field < fields; ++field) {
    int64_t ticks = 0;
    if (!(line >> ticks)) break;
    if (field != idle && field != waiting) sum += ticks;
  }
  return sum;
}

}  // namespace

int64_t read_core_work(std::string_view text, const CoreSet& cores, int64_t ticks_per_second) {
  std::istringstream lines{std::string(text)};
  int64_t ticks = 0;
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    int number = -1;
    if (line.size() < 4 || line[3] == ' ' || !(words >> number)) continue;
    if (std::ranges::binary_search(cores.numbers(), number)) ticks += working_ticks(words);
  }
  return ticks * (1'000'000'000 / ticks_per_second);
}

bool are_disturbed(int threads, int cores, int64_t others, int64_t elapsed) {
  constexpr double tolerated = 0.05;
  constexpr int64_t counting_errs = 30'000'000;
  const double left = std::max(cores - threads, 0) + tolerated * cores;
  return static_cast<double>(others - counting_errs) > left * static_cast<double>(elapsed);
}

LoadMeter::LoadMeter()
    : cores_(CoreSet::of_this_thread()),
      began_(clock_nanoseconds()),
      own_before_(own_work()),
      all_before_(all_work(cores_)) {}

bool LoadMeter::is_disturbed(int threads) const {
  const int64_t others = (all_work(cores_) - all_before_) - (own_work() - own_before_);
  return are_disturbed(threads, cores_.size(), others, clock_nanoseconds() - began_);
}

}  // namespace intarsia
