// A process that does work for this one.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "print.h"

/// A copy of this process, made by fork: create it before a library is opened or a thread started. It answers
/// one request after the other and ends with its Worker, or with this process.
class Worker {
 public:
  /// `serve` runs in the new process; `ask` rethrows what it throws.
  Worker(std::string name, const std::function<Json(const Json& request)>& serve);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Throws intarsia::Error with the worker's name, even if the process has died.
  Json ask(const Json& request);

  const std::string& name() const { return name_; }
  /// Used by all its threads.
  double cpu_seconds() const;
  /// Its peak memory, in 10^6 bytes, including mapped files that were touched.
  double peak_rss_mb() const;

 private:
  int end();  // its status, as from waitpid
  [[noreturn]] void throw_death();

  std::string name_;
  pid_t process_ = -1;  // -1: no longer running
  FILE* requests_ = nullptr;
  FILE* answers_ = nullptr;
};
