// Worker process of the compile half: generates the code of one kernel after the other, as requested over the
// socket that is its standard input, until that closes. It may die at any time; the parent then goes on
// without it.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "backends/halide/build/compile_kernel.h"
#include "backends/halide/build/stack_bytes.h"
#include "backends/halide/emit/kernel_message.h"
#include "backends/halide/emit/message_stream.h"
#include "base/code/worker_process.h"

namespace {

using namespace intarsia;
using namespace intarsia::halide;

CodegenReply answer(const CodegenRequest& request) {
  limit_cpu_time(request.cpu_seconds);
  CodegenReply reply = compile_kernel(request.kernel, request.checks);
  limit_cpu_time(0);
  return reply;
}

bool reply_to(const CodegenRequest& request) {
  return send_message(STDIN_FILENO, encode_reply(answer(request)));
}

/// Replies from a child process, which dies as this one would. Halide numbers the names in a pipeline as long
/// as a process lives, and code for a device contains them; a child per request gives equal kernels equal
/// texts.
bool reply_in_child(const CodegenRequest& request) {
  const pid_t child = fork();
  if (child < 0) return reply_to(request);
  if (child == 0) {
    end_with_parent();
    _exit(reply_to(request) ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) raise(WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool reply_to(const std::string& message) {
  const Result<CodegenRequest> request = decode_request(message);
  if (!request) return send_message(STDIN_FILENO, encode_reply(tl::unexpected(request.error())));
  return request->kernel.isa.is_offloaded() ? reply_in_child(*request) : reply_to(*request);
}

}  // namespace

int main() {
  end_with_parent();
  ask_for_stack_bytes();
  MessageReader reader;
  std::string message;
  while (true) {
    const MessageReader::State state = reader.read(STDIN_FILENO, message);
    if (state == MessageReader::State::closed) return 0;
    if (state == MessageReader::State::complete && !reply_to(message)) return 0;
  }
}
