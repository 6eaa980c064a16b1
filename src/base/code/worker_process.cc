#include "base/code/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/files/own_file.h"

extern char** environ;

namespace intarsia {
namespace {

Result<std::string> find_program(const std::string& name) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::canonical(own_file(), error).parent_path() / name;
  if (!error && access(program.c_str(), X_OK) == 0) return program.string();
  return fail(ErrorKind::not_found, "cannot find '{}', which is part of Intarsia; reinstall it",
              program.string());
}

}  // namespace

bool WorkerEnd::is_out_of_time() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF; }

bool WorkerEnd::is_killed() const { return WIFSIGNALED(status); }

std::string WorkerEnd::describe(const std::string& work) const {
  const std::string end = is_out_of_time()      ? "took too long"
                          : WIFSIGNALED(status) ? fmt::format("ended with signal {}", WTERMSIG(status))
                                                : fmt::format("ended with status {}", WEXITSTATUS(status));
  return fmt::format("{} {}{}{}", work, end, last_words.empty() ? "" : ": ", last_words);
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& program,
                                                            const std::vector<std::string>& arguments,
                                                            int input) {
  const std::string path = TRY(find_program(program));
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess);
  worker->messages_ = memfd_create(program.c_str(), MFD_CLOEXEC);
  if (const int failed = worker->spawn(path, arguments, input); failed != 0)
    return fail(ErrorKind::io, "cannot start '{}': {}", path, std::strerror(failed));
  return worker;
}

WorkerProcess::~WorkerProcess() {
  end();
  if (messages_ >= 0) close(messages_);
}

/// Spawns the process in its own process group, as signals from the terminal are for the parent to handle.
int WorkerProcess::spawn(const std::string& path, const std::vector<std::string>& arguments, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input >= 0)
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  else
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (messages_ >= 0) posix_spawn_file_actions_adddup2(&actions, messages_, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words{path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int failed = posix_spawn(&process_, path.c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) process_ = 0;
  return failed;
}

double WorkerProcess::cpu_seconds() const {
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::optional<WorkerEnd> WorkerProcess::find_end() {
  int status = 0;
  if (process_ > 0 && waitpid(process_, &status, WNOHANG) == 0) return std::nullopt;
  process_ = 0;
  return WorkerEnd{status, last_words()};
}

WorkerEnd WorkerProcess::end() {
  int status = 0;
  if (process_ > 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  process_ = 0;
  return {status, last_words()};
}

std::string WorkerProcess::last_words() const {
  std::array<char, 512> end;
  const off_t size = lseek(messages_, 0, SEEK_END);
  const off_t from = std::max<off_t>(size - static_cast<off_t>(end.size()), 0);
  const ssize_t got = pread(messages_, end.data(), end.size(), from);
  std::string text(end.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void limit_cpu_time(double seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace intarsia
