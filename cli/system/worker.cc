#include "cli/system/worker.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace {

/// Reads a line without its end; returns false at the end of the stream.
bool read_line(FILE* stream, std::string& line) {
  char* buffer = nullptr;
  size_t room = 0;
  const ssize_t length = getline(&buffer, &room, stream);
  if (length > 0) line.assign(buffer, static_cast<size_t>(length) - 1);
  std::free(buffer);
  return length > 0;
}

bool write_line(FILE* stream, const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return std::fputs(text.c_str(), stream) >= 0 && std::fflush(stream) == 0;
}

Json answer(const std::function<Json(const Json&)>& serve, const std::string& request) {
  try {
    return {{"answer", serve(Json::parse(request))}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

[[noreturn]] void serve_all(const std::function<Json(const Json&)>& serve, FILE* requests, FILE* answers) {
  dup2(STDERR_FILENO, STDOUT_FILENO);  // output of libraries is not part of the report
  std::string request;
  while (read_line(requests, request) && write_line(answers, answer(serve, request))) {
  }
  _exit(0);
}

}  // namespace

Worker::Worker(std::string name, const std::function<Json(const Json&)>& serve) : name_(std::move(name)) {
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) throw intarsia::Error("cannot create a pipe to another process");
  std::signal(SIGPIPE, SIG_IGN);  // a write to a process that died must be an error of `ask`
  const pid_t parent = getpid();
  std::fflush(nullptr);
  process_ = fork();
  if (process_ < 0) throw intarsia::Error("cannot create another process");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    close(to[1]);
    close(from[0]);
    serve_all(serve, fdopen(to[0], "r"), fdopen(from[1], "w"));
  }
  close(to[0]);
  close(from[1]);
  requests_ = fdopen(to[1], "w");
  answers_ = fdopen(from[0], "r");
}

int Worker::end() {
  int status = 0;
  if (process_ <= 0) return status;
  kill(process_, SIGKILL);
  waitpid(process_, &status, 0);
  process_ = -1;  // another process may get the number from here on
  return status;
}

Worker::~Worker() {
  end();
  std::fclose(requests_);
  std::fclose(answers_);
}

void Worker::throw_death() {
  const int status = end();
  const std::string how = WIFSIGNALED(status) ? fmt::format("by signal {}", WTERMSIG(status))
                                              : fmt::format("with status {}", WEXITSTATUS(status));
  throw intarsia::Error(fmt::format("{}: its process ended {}", name_, how));
}

Json Worker::ask(const Json& request) {
  std::string line;
  if (!write_line(requests_, request) || !read_line(answers_, line)) throw_death();
  Json reply = Json::parse(line);
  if (reply.contains("error")) throw intarsia::Error(name_ + ": " + reply["error"].get<std::string>());
  return std::move(reply["answer"]);
}

double Worker::cpu_seconds() const {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &used) != 0)
    throw intarsia::Error(name_ + ": cannot read how much time its process used");
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

double Worker::peak_rss_mb() const {
  std::ifstream status(fmt::format("/proc/{}/status", process_));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) * 1024 / 1e6;
  }
  throw intarsia::Error(name_ + ": cannot read how much memory its process used");
}
