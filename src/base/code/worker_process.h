// Helper programs of ours that work for this process. A library call in a thread cannot be stopped, nor a
// crash in it survived; a process can be killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Exit status of a worker.
struct WorkerEnd {
  int status = 0;          // status from waitpid
  std::string last_words;  // last line that it printed to standard error

  /// Whether limit_cpu_time ended it.
  bool is_out_of_time() const;
  /// Whether a signal ended it, so that it did not exit on its own.
  bool is_killed() const;
  /// Describes the end of `work`: "generating its code ended with signal 6: <last words>".
  std::string describe(const std::string& work) const;
};

/// Process of a helper program, killed by the destructor. Neither copied nor moved.
class WorkerProcess {
 public:
  /// Starts a program that is next to the library or executable that contains this code. `input` becomes its
  /// standard input, none if -1. Errors: the program is missing, or cannot be started.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program,
                                                      const std::vector<std::string>& arguments, int input);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Returns the CPU time that all its threads have used.
  double cpu_seconds() const;
  /// Returns the end of the process; nullopt while it runs.
  std::optional<WorkerEnd> find_end();
  /// Kills the process, unless it has ended.
  WorkerEnd end();

 private:
  WorkerProcess() = default;
  int spawn(const std::string& path, const std::vector<std::string>& arguments, int input);
  std::string last_words() const;

  pid_t process_ = 0;  // 0 once it has ended and was waited for
  int messages_ = -1;  // memory file with its standard error
};

/// Limits, in a worker, the CPU time that all its threads may use from now on; SIGPROF then ends the process.
/// 0 means no limit.
void limit_cpu_time(double seconds);
/// Makes the system kill this worker when the thread that started it ends, since its result would not be
/// used.
void end_with_parent();

}  // namespace intarsia
