#include "base/threads/fork_count.h"

#include <pthread.h>

#include <atomic>

namespace intarsia {

uint32_t fork_count() {
  static std::atomic<uint32_t> forks{0};
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace intarsia
