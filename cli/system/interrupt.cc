#include "cli/system/interrupt.h"

#include <csignal>

namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t received = 0;

extern "C" void receive(int signal) { received = signal; }

void handle_by(void (*handler)(int)) {
  for (int signal : signals) {
    struct sigaction before = {}, action = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // ignored from outside, as by nohup
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

InterruptGuard::InterruptGuard(intarsia::CompileOptions& options) {
  options.is_cancelled = [] { return received != 0; };
  handle_by(receive);
}

InterruptGuard::~InterruptGuard() { handle_by(SIG_DFL); }

void InterruptGuard::end_if_interrupted() {
  if (received == 0) return;
  std::signal(received, SIG_DFL);
  std::raise(received);
}
