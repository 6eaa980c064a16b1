#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

ProgressDisplay::ProgressDisplay() : terminal_(isatty(STDERR_FILENO) == 1) {}
ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::show(const std::string& phase, int done, int total) {
  if (!terminal_) {
    if (phase != phase_) std::printf("%s\n", phase.c_str());
    phase_ = phase;
    return;
  }
  constexpr int width = 30;
  const double part = total > 0 ? std::clamp(static_cast<double>(done) / total, 0.0, 1.0) : 0;
  const std::string filled(static_cast<size_t>(part * width), '#');
  std::fprintf(stderr, "\r\033[K[%-*s] %3.0f%% %s", width, filled.c_str(), part * 100, phase.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressDisplay::clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}
