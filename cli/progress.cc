#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

std::string ProgressDisplay::time_left(double part) const {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  if (spent.count() < 1 || part <= 0) return "";
  return fmt::format(", {:.0f} s left", spent.count() * (1 - part) / part);
}

ProgressDisplay::ProgressDisplay() : terminal_(isatty(STDERR_FILENO) == 1) {}
ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::show(const std::string& phase, int done, int total) {
  if (phase != phase_) {
    phase_ = phase;
    start_ = std::chrono::steady_clock::now();
    if (!terminal_) {
      std::printf("%s\n", phase.c_str());
      std::fflush(stdout);
    }
  }
  if (!terminal_) return;
  constexpr int width = 30;
  const double part = total > 0 ? std::clamp(static_cast<double>(done) / total, 0.0, 1.0) : 0;
  const std::string filled(static_cast<size_t>(part * width), '#');
  std::fprintf(stderr, "\r\033[K[%-*s] %3.0f%% %s%s", width, filled.c_str(), part * 100, phase.c_str(),
               time_left(part).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressDisplay::clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}
