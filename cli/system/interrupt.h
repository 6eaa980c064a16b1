// Handling of Ctrl-C and similar signals during work that can end early and clean up.
#pragma once

#include <intarsia/intarsia_compile.hpp>

/// Makes options.is_cancelled report SIGINT, SIGTERM and SIGHUP during its lifetime. A second such signal
/// ends the process at once. Only one guard may exist at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(intarsia::CompileOptions& options);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Ends the process by the signal that came, if one did; call it after the work has ended and cleaned up.
  static void end_if_interrupted();
};
