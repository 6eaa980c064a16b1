// A worker process of the compile half: generates the code of one kernel after the other, as requested over
// the socket that is its standard input, until that closes. It may die at any time; the parent then goes on
// without it.
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

#include "backends/halide/build/compile_kernel.h"
#include "backends/halide/emit/kernel_message.h"
#include "backends/halide/emit/message_stream.h"

namespace {

using namespace intarsia;
using namespace intarsia::halide;

/// From now on; 0: no limit. SIGPROF then ends the process.
void limit_cpu_time(double seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

CodegenReply answer(const std::string& message) {
  const CodegenRequest request = TRY(decode_request(message));
  limit_cpu_time(request.cpu_seconds);
  CodegenReply reply = compile_kernel(request.kernel, request.checks);
  limit_cpu_time(0);
  return reply;
}

}  // namespace

int main() {
  // The parent may be killed, and then nobody would read what this process computes.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  MessageReader reader;
  std::string message;
  while (true) {
    const MessageReader::State state = reader.read(STDIN_FILENO, message);
    if (state == MessageReader::State::closed) return 0;
    if (state == MessageReader::State::complete && !send_message(STDIN_FILENO, encode_reply(answer(message))))
      return 0;
  }
}
