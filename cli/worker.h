// A process that does work for this one.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "print.h"

/// A copy of this process, made by fork: make it before a library is opened or a thread started. It answers
/// one request after the other and ends with its Worker, or with this process.
class Worker {
 public:
  /// `serve` runs in the new process; what it throws, `ask` throws.
  Worker(std::string name, const std::function<Json(const Json& request)>& serve);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Throws intarsia::Error with the worker's name, also when the process has died.
  Json ask(const Json& request);

  const std::string& name() const { return name_; }
  /// That all its threads have used.
  double cpu_seconds() const;
  /// The most memory that it had at once, in 10^6 bytes, files that are mapped and touched included.
  double peak_rss_mb() const;

 private:
  int end();  // its status, as waitpid tells it
  [[noreturn]] void throw_death();

  std::string name_;
  pid_t process_ = -1;  // none any more: -1
  FILE* requests_ = nullptr;
  FILE* answers_ = nullptr;
};
