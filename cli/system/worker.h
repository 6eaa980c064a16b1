// A process that does work for this one.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "cli/text/print.h"

/// Copy of this process, made by fork: create it before a library is opened or a thread started. It answers
/// one request after the other and ends with its Worker, or with this process.
class Worker {
 public:
  /// Starts the process, where `serve` runs; `ask` rethrows what it throws.
  Worker(std::string name, const std::function<Json(const Json& request)>& serve);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Returns the answer. Throws intarsia::Error with the worker's name, even if the process has died.
  Json ask(const Json& request);

  const std::string& name() const { return name_; }
  /// Returns the processor time that all its threads used.
  double cpu_seconds() const;
  /// Returns its peak memory, in 10^6 bytes, including mapped files that were touched.
  double peak_rss_mb() const;

 private:
  int end();  // returns its status, as from waitpid
  [[noreturn]] void throw_death();

  std::string name_;
  pid_t process_ = -1;  // -1 once it has ended
  FILE* requests_ = nullptr;
  FILE* answers_ = nullptr;
};
