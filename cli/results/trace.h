// Record of what the runs of a session did, and when.
#pragma once

#include <intarsia/intarsia.h>

#include <mutex>
#include <string>

#include "cli/results/trace_file.h"

class Trace {
 public:
  /// Records what `session` does until either is destroyed.
  explicit Trace(intarsia_session* session);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Writes a row per device, regions over their kernels. Throws intarsia::Error.
  void write(const std::string& path) const;

 private:
  static void record(void* user, const intarsia_trace_event* event);

  intarsia_session* session_;
  std::mutex mutex_;  // guards slices_
  std::vector<TraceSlice> slices_;
};
