// Number of threads that this process has.
#pragma once

#include <filesystem>
#include <iterator>

namespace intarsia::test {

inline int threads_of_this_process() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

}  // namespace intarsia::test
