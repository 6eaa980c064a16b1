// Programs of ours that work for this process. What a library does can neither be stopped nor survived in a
// thread, but a process can be killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// How a worker ended.
struct WorkerEnd {
  int status = 0;          // as waitpid gives it
  std::string last_words;  // the last line that it printed to standard error

  /// By limit_cpu_time.
  bool is_out_of_time() const;
  /// By a signal: it did not end by itself.
  bool is_killed() const;
  /// "generating its code" gives "generating its code ended with signal 6: <last words>".
  std::string describe(const std::string& work) const;
};

/// A process, ended by the destructor. Never moved: it is the process.
class WorkerProcess {
 public:
  /// The program is next to the library, or the executable, that contains this code. `input` becomes its
  /// standard input; -1: it has none. Error: it is not there, or cannot be started.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program,
                                                      const std::vector<std::string>& arguments, int input);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// That all its threads have used.
  double cpu_seconds() const;
  /// Nothing: it runs.
  std::optional<WorkerEnd> find_end();
  /// Kills it, unless it has ended.
  WorkerEnd end();

 private:
  WorkerProcess() = default;
  int spawn(const std::string& path, const std::vector<std::string>& arguments, int input);
  std::string last_words() const;

  pid_t process_ = 0;  // 0: it has ended, and the system knows nothing of it
  int messages_ = -1;  // what it writes to standard error
};

/// For workers: from now on the process, with all its threads, may compute for so long, and is ended then
/// (SIGPROF). 0: as long as it likes.
void limit_cpu_time(double seconds);
/// For workers: the system ends this process when the thread that started it ends, since nobody would take
/// what it makes.
void end_with_parent();

}  // namespace intarsia
