// A trace of runs as a file that ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <intarsia/intarsia.h>

#include <mutex>
#include <string>

#include "print.h"

class Trace {
 public:
  /// Records what `session` does until either is destroyed.
  explicit Trace(intarsia_session* session);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The JSON of the Trace Event Format: a row per device, regions over their kernels. Throws
  /// intarsia::Error.
  void write(const std::string& path) const;

 private:
  static void record(void* user, const intarsia_trace_event* event);

  intarsia_session* session_;
  std::mutex mutex_;  // of events_
  Json events_ = Json::array();
};
