// Cost of a parallel loop in which every thread takes part: one task per thread, which waits until all the
// others have started. Prints one JSON object; aim: about a microsecond.
//
//   build/bin/bench_handover [THREADS]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/threads/thread_pool.h"

namespace {

struct Meeting {
  int64_t awaited = 0;
  std::atomic<int64_t> here{0};
};

int meet(void* data, int, int) {
  Meeting& meeting = *static_cast<Meeting*>(data);
  meeting.here.fetch_add(1, std::memory_order_relaxed);
  while (meeting.here.load(std::memory_order_relaxed) < meeting.awaited) {
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  const int threads = count > 1 ? std::atoi(arguments[1]) : 2;
  if (threads < 1) {
    std::fprintf(stderr, "error: %s: want a number of threads, at least 1\n", arguments[1]);
    return 2;
  }
  constexpr int batches = 2000, loops = 100;
  intarsia::ThreadTeam team(intarsia::ThreadPool::of(intarsia::CoreSet::of_this_thread()), threads);
  if (team.size() < threads) {
    std::fprintf(stderr, "error: %d threads: this process may use %d cores\n", threads, team.size());
    return 2;
  }
  const intarsia::ThreadTeam::Busy busy(&team);
  Meeting meeting;
  std::vector<double> nanoseconds;
  for (int batch = 0; batch < batches; ++batch) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < loops; ++i) {
      meeting.awaited += threads;
      team.parallel_for(threads, meet, &meeting);
    }
    nanoseconds.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / loops);
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  std::printf("{\"threads\": %d, \"loops\": %d, \"ns_a_loop_median\": %.0f, \"ns_a_loop_min\": %.0f}\n",
              threads, batches * loops, nanoseconds[batches / 2], nanoseconds[0]);
}
