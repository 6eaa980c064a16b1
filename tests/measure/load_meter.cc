// Share of a machine's cores that other processes take while something is timed.
//
// Covers: src/measure/ load_meter.cc
#include "measure/load_meter.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace intarsia {
namespace {

constexpr int64_t second = 1'000'000'000;

TEST(LoadMeter, ReadsWhatTheCoresWorked) {
  constexpr const char* text =
      "cpu  999 999 999 999 999 999 999 999 0 0\n"
      "cpu0 100 1 20 5000 400 3 4 50 7 7\n"
      "cpu1 200 0 0 5000 400 0 0 0 0 0\n"
      "cpu10 300 0 0 5000 400 0 0 0 0 0\n"
      "intr 12345 cpu0 1\n";
  const auto read = [&](const char* cores) { return read_core_work(text, *CoreSet::parse(cores), 100); };
  EXPECT_EQ(read("0"), 178 * second / 100) << "neither idle nor waiting for a disk";
  EXPECT_EQ(read("1"), 200 * second / 100);
  EXPECT_EQ(read("0+10"), 478 * second / 100);
  EXPECT_EQ(read("5"), 0);
  EXPECT_EQ(read_core_work("", *CoreSet::parse("0"), 100), 0) << "a system that does not tell";
}

TEST(LoadMeter, CoresThatAreNotNeededMayBeTaken) {
  EXPECT_FALSE(are_disturbed(2, 2, 0, second));
  EXPECT_FALSE(are_disturbed(2, 2, second / 10, second));
  EXPECT_TRUE(are_disturbed(2, 2, second / 5, second));
  EXPECT_FALSE(are_disturbed(1, 2, second, second)) << "one core is free";
  EXPECT_TRUE(are_disturbed(1, 2, second * 3 / 2, second));
  EXPECT_TRUE(are_disturbed(4, 2, second, second));
  EXPECT_FALSE(are_disturbed(2, 2, second / 50, second / 50)) << "ticks are too coarse for so short a time";
}

TEST(LoadMeter, OtherProcessesDisturb) {
  const LoadMeter meter;
  const int cores = CoreSet::of_this_thread().size();
  std::vector<pid_t> busy;
  for (int i = 0; i < 2 * cores; ++i) {
    busy.push_back(fork());
    if (busy.back() == 0) {
      for (volatile bool stays = true; stays;) {
      }
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const bool is_disturbed = meter.is_disturbed(cores);
  for (const pid_t process : busy) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  EXPECT_TRUE(is_disturbed);
}

}  // namespace
}  // namespace intarsia
