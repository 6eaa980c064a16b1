// Launch interface for code compiled for a device: kernels in a program's text, launched one after the other.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/time_span.h"

namespace intarsia {

struct LaunchArgument {
  const void* value = nullptr;  // memory of a Place, or address of a scalar
  size_t bytes = 0;             // size of a scalar; 0 for memory
};

struct Launch {
  std::string_view program;  // text of the program; does not move while the executable lives
  const char* entry;         // name of the kernel in it; does not move either
  std::array<size_t, 3> groups{1, 1, 1};
  std::array<size_t, 3> group_items{1, 1, 1};
  size_t shared_bytes = 0;  // shared memory of a group
  std::span<const LaunchArgument> arguments;
};

/// Launcher for one run of an executable on a device; called by one thread.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Launches a kernel that starts when earlier launches are done. May return before the kernel is done;
  /// wait() returns its later errors. Errors: the program does not build, lacks the kernel, or the device
  /// refuses.
  virtual Status launch(const Launch& launch) = 0;
  /// Waits until all launches are done.
  virtual Status wait() = 0;
  /// Waits likewise. Returns when the device worked on the launches since the last wait, by its own clock if
  /// a trace was requested.
  virtual Result<TimeSpan> wait_timed() = 0;
};

}  // namespace intarsia
