// How code that was compiled for a device reaches it: kernels in a program's text, launched one after the
// other.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/time_span.h"

namespace intarsia {

struct LaunchArgument {
  const void* value = nullptr;  // memory: a Place's; a scalar: its address
  size_t bytes = 0;             // of a scalar; 0: memory
};

struct Launch {
  std::string_view program;  // its text, which stays where it is as long as the executable lives
  const char* entry;         // of the kernel in it; stays, too
  std::array<size_t, 3> groups{1, 1, 1};
  std::array<size_t, 3> group_items{1, 1, 1};
  size_t shared_bytes = 0;  // of a group
  std::span<const LaunchArgument> arguments;
};

/// During one run of an executable on a device; called by one thread.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Begins when what was launched before is done. May return before it is done; errors after that are those
  /// of wait(). Error: the program does not build, the kernel is not in it, or the device refuses.
  virtual Status launch(const Launch& launch) = 0;
  /// Until all that was launched is done.
  virtual Status wait() = 0;
  /// The same. Gives when the device worked on what was launched since the last wait, by its own clock where
  /// a trace was requested.
  virtual Result<TimeSpan> wait_timed() = 0;
};

}  // namespace intarsia
