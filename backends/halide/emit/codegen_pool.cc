#include "backends/halide/emit/codegen_pool.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "backends/halide/emit/message_stream.h"
#include "base/code/worker_process.h"

namespace intarsia::halide {
namespace {

constexpr int poll_milliseconds = 50;  // time between two checks whether to go on

}  // namespace

/// Process, its socket, and the request that it works on.
class CodegenWorker {
 public:
  static Result<std::unique_ptr<CodegenWorker>> start() {
    std::array<int, 2> sockets;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
      return fail(kind_of_errno(errno), "halide: cannot create a socket for a worker: {}",
                  std::strerror(errno));
    std::unique_ptr<CodegenWorker> worker(new CodegenWorker(sockets[0]));
    auto process = WorkerProcess::start("intarsia-codegen", {}, sockets[1]);
    close(sockets[1]);
    worker->process_ = TRY(with_context(std::move(process), "halide, which generates code in a process"));
    return worker;
  }

  ~CodegenWorker() {
    process_.reset();
    close(socket_);
  }
  CodegenWorker(const CodegenWorker&) = delete;
  CodegenWorker& operator=(const CodegenWorker&) = delete;

  int socket() const { return socket_; }
  std::optional<size_t> request() const { return request_; }

  /// Sends a request. Returns false if the process is dead.
  bool ask(size_t number, const CodegenRequest& request) {
    request_ = number;
    cpu_before_ = process_->cpu_seconds();
    return send_message(socket_, encode_request(request));
  }

  /// Reads from the socket, once it is readable: the reply when it is complete; closed if the process died.
  MessageReader::State read(std::string& reply) { return reader_.read(socket_, reply); }

  /// Returns the CPU seconds of the last request.
  double finish() {
    request_.reset();
    return process_->cpu_seconds() - cpu_before_;
  }

  /// Records why the process died.
  void end(CodegenOutcome& outcome) {
    const WorkerEnd end = process_->end();
    outcome.why = end.describe("generating its code");
    outcome.out_of_time = end.is_out_of_time();
  }

 private:
  explicit CodegenWorker(int socket) : socket_(socket) {}

  std::unique_ptr<WorkerProcess> process_;
  int socket_;
  MessageReader reader_;
  std::optional<size_t> request_;
  double cpu_before_ = 0;
};

namespace {

/// Call of CodegenPool::run.
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
    // The worker died while idle: it was killed from outside.
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

  /// Ends the workers, which are in the middle of work that nobody needs.
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
  // Workers may be in the middle of requests whose outcomes nobody takes.
  if (!outcomes) workers_.clear();
  return outcomes;
}

}  // namespace intarsia::halide
