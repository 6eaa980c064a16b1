#include "backends/halide/emit/codegen_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <thread>

#include "backends/halide/emit/message_stream.h"
#include "base/own_file.h"

extern char** environ;

namespace intarsia::halide {
namespace {

constexpr const char* worker_name = "intarsia-codegen";
constexpr int poll_milliseconds = 50;  // between two checks whether to go on

/// It is next to the library, or the executable, that contains this code.
Result<std::string> find_worker() {
  std::error_code error;
  const std::filesystem::path worker =
      std::filesystem::canonical(own_file(), error).parent_path() / worker_name;
  if (!error && access(worker.c_str(), X_OK) == 0) return worker.string();
  return fail(ErrorKind::not_found,
              "halide: cannot find '{}', which generates the code of kernels; reinstall Intarsia",
              worker.string());
}

bool is_out_of_time(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF; }

std::string describe_end(int status) {
  if (is_out_of_time(status)) return "generating its code took too long";
  if (WIFSIGNALED(status)) return fmt::format("generating its code ended with signal {}", WTERMSIG(status));
  return fmt::format("generating its code ended with status {}", WEXITSTATUS(status));
}

}  // namespace

/// A process, its socket, and the request that it works on. Never moved: it is the process.
class CodegenWorker {
 public:
  static Result<std::unique_ptr<CodegenWorker>> start() {
    const std::string path = TRY(find_worker());
    std::array<int, 2> sockets;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
      return fail(kind_of_errno(errno), "halide: cannot create a socket for a worker: {}",
                  std::strerror(errno));
    std::unique_ptr<CodegenWorker> worker(new CodegenWorker);
    worker->socket_ = sockets[0];
    worker->messages_ = memfd_create("intarsia-codegen", MFD_CLOEXEC);
    const int failed = worker->spawn(path, sockets[1]);
    close(sockets[1]);
    if (failed != 0) return fail(ErrorKind::io, "halide: cannot start '{}': {}", path, std::strerror(failed));
    return worker;
  }

  ~CodegenWorker() {
    CodegenOutcome ignored;
    if (process_ > 0) end(ignored);
    close(socket_);
    if (messages_ >= 0) close(messages_);
  }
  CodegenWorker(const CodegenWorker&) = delete;
  CodegenWorker& operator=(const CodegenWorker&) = delete;

  int socket() const { return socket_; }
  std::optional<size_t> request() const { return request_; }

  /// False: it is dead.
  bool ask(size_t number, const CodegenRequest& request) {
    request_ = number;
    cpu_before_ = cpu_seconds();
    return send_message(socket_, encode_request(request));
  }

  /// After its socket became readable: the reply once it is complete. Closed: it died.
  MessageReader::State read(std::string& reply) { return reader_.read(socket_, reply); }

  /// Of the last request.
  double finish() {
    request_.reset();
    return cpu_seconds() - cpu_before_;
  }

  /// Why it died, including the last line that it printed.
  void end(CodegenOutcome& outcome) {
    kill(process_, SIGKILL);
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    const std::string said = last_words();
    outcome.why = describe_end(status) + (said.empty() ? "" : ": " + said);
    outcome.out_of_time = is_out_of_time(status);
  }

 private:
  CodegenWorker() = default;

  /// In its own process group: signals from the terminal are for the parent to act on.
  int spawn(std::string path, int socket) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
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
    std::array<char*, 2> arguments{path.data(), nullptr};
    const int failed = posix_spawn(&process_, path.c_str(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) process_ = 0;
    return failed;
  }

  double cpu_seconds() const {
    clockid_t clock = 0;
    timespec time = {};
    if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  /// The last line of its standard error.
  std::string last_words() const {
    std::array<char, 512> end;
    const off_t size = lseek(messages_, 0, SEEK_END);
    const off_t from = std::max<off_t>(size - static_cast<off_t>(end.size()), 0);
    const ssize_t got = pread(messages_, end.data(), end.size(), from);
    std::string text(end.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

  pid_t process_ = 0;
  int socket_ = -1;
  int messages_ = -1;  // what it writes to standard error
  MessageReader reader_;
  std::optional<size_t> request_;
  double cpu_before_ = 0;
};

namespace {

/// One call of CodegenPool::run.
class Run {
 public:
  Run(std::vector<std::unique_ptr<CodegenWorker>>& workers, const std::vector<CodegenRequest>& requests,
      const CodegenPool::Watch& watch)
      : workers_(workers), requests_(requests), watch_(watch), outcomes_(requests.size()) {}

  Result<std::vector<CodegenOutcome>> run() {
    while (done_ < requests_.size()) {
      for (std::unique_ptr<CodegenWorker>& worker : workers_) TRY(give_work(worker));
      if (watch_.is_cancelled && watch_.is_cancelled()) return cancel();
      std::vector<pollfd> sockets;
      for (const std::unique_ptr<CodegenWorker>& worker : workers_)
        sockets.push_back({worker->socket(), POLLIN, 0});
      if (poll(sockets.data(), sockets.size(), poll_milliseconds) <= 0) continue;
      for (size_t w = 0; w < workers_.size(); ++w)
        if (sockets[w].revents != 0) TRY(take_reply(workers_[w]));
    }
    return std::move(outcomes_);
  }

 private:
  Status give_work(std::unique_ptr<CodegenWorker>& worker) {
    if (worker->request() || next_ == requests_.size()) return {};
    const size_t number = next_++;
    if (worker->ask(number, requests_[number])) return {};
    // It died while idle: it was killed from outside.
    worker = TRY(CodegenWorker::start());
    worker->ask(number, requests_[number]);
    return {};
  }

  Status take_reply(std::unique_ptr<CodegenWorker>& worker) {
    std::string reply;
    const MessageReader::State state = worker->read(reply);
    if (state == MessageReader::State::incomplete) return {};
    if (!worker->request()) {
      worker = TRY(CodegenWorker::start());
      return {};
    }
    const size_t number = *worker->request();
    CodegenOutcome& outcome = outcomes_[number];
    outcome.cpu_seconds = worker->finish();
    if (state == MessageReader::State::closed) {
      worker->end(outcome);
      worker = TRY(CodegenWorker::start());
    } else {
      outcome.kernel = TRY(with_context(decode_reply(reply), "halide: a kernel does not compile"));
      outcome.kind = CodegenOutcome::Kind::made;
    }
    ++done_;
    watch_.progress.did("generate_code");
    return {};
  }

  /// The workers are in the middle of work that is no longer needed.
  tl::unexpected<Error> cancel() {
    workers_.clear();
    return fail(ErrorKind::cancelled, "interrupted");
  }

  std::vector<std::unique_ptr<CodegenWorker>>& workers_;
  const std::vector<CodegenRequest>& requests_;
  const CodegenPool::Watch& watch_;
  std::vector<CodegenOutcome> outcomes_;
  size_t next_ = 0, done_ = 0;
};

}  // namespace

CodegenPool::CodegenPool() = default;
CodegenPool::~CodegenPool() = default;

Status CodegenPool::start() {
  const size_t count = std::max(std::thread::hardware_concurrency(), 1u);
  while (workers_.size() < count) workers_.push_back(TRY(CodegenWorker::start()));
  return {};
}

Result<std::vector<CodegenOutcome>> CodegenPool::run(const std::vector<CodegenRequest>& requests,
                                                     const Watch& watch) {
  TRY(start());
  Result<std::vector<CodegenOutcome>> outcomes = Run(workers_, requests, watch).run();
  // After an error some are in the middle of requests whose outcomes nobody takes.
  if (!outcomes) workers_.clear();
  return outcomes;
}

}  // namespace intarsia::halide
