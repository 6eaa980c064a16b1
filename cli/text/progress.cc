#include "cli/text/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace {

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void add_verbosity_options(CLI::App& command, Verbosity& verbosity) {
  CLI::Option* quiet = command.add_flag_callback(
      "-q,--quiet", [&verbosity] { verbosity = Verbosity::quiet; },
      "Print only errors and what was asked for");
  command
      .add_flag_callback(
          "-v,--verbose", [&verbosity] { verbosity = Verbosity::verbose; },
          "Say more: what each step did, and how long it took")
      ->excludes(quiet);
}

ProgressDisplay::ProgressDisplay(Verbosity verbosity)
    : verbosity_(verbosity), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressDisplay::~ProgressDisplay() {
  end_phase();
  clear();
}

void ProgressDisplay::show(const std::string& phase, double part) {
  if (verbosity_ == Verbosity::quiet) return;
  if (phase != phase_) {
    end_phase();
    phase_ = phase;
    phase_start_ = Clock::now();
  }
  part_ = std::clamp(part, part_, 1.0);
  if (terminal_) {
    draw_bar();
  } else {
    print_line();
  }
}

void ProgressDisplay::end_phase() {
  constexpr double least = 0.1;
  const double took = seconds(Clock::now() - phase_start_);
  if (verbosity_ != Verbosity::verbose || phase_.empty() || took < least) return;
  clear();
  std::fprintf(stderr, "progress: %s took %.1f s\n", phase_.c_str(), took);
}

void ProgressDisplay::draw_bar() {
  constexpr int width = 30;
  const std::string filled(static_cast<size_t>(part_ * width), '#');
  std::fprintf(stderr, "\r\033[K[%-*s] %3.0f%% %s%s", width, filled.c_str(), part_ * 100, phase_.c_str(),
               time_left().c_str());
  std::fflush(stderr);
  drawn_ = true;
}

/// Prints a line, at most ten in all, and none for work that is done in a moment.
void ProgressDisplay::print_line() {
  constexpr double pause = 3;
  if (part_ < next_line_ || part_ >= 1 || seconds(Clock::now() - last_line_) < pause) return;
  while (next_line_ <= part_) next_line_ += 0.1;
  last_line_ = Clock::now();
  std::fprintf(stderr, "progress: %.0f%%, %s%s\n", part_ * 100, phase_.c_str(), time_left().c_str());
}

std::string ProgressDisplay::time_left() const {
  constexpr double least = 0.05;  // part below which it is too early to estimate
  const double spent = seconds(Clock::now() - start_);
  if (spent < 1 || part_ < least) return "";
  return fmt::format(", {:.0f} s left", spent * (1 - part_) / part_);
}

void ProgressDisplay::clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}
