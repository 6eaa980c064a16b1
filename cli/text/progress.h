// Shows the progress of a compile or a measurement.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

/// Amount that a command prints besides --json and files, which are always the same. Quiet: only what was
/// asked for, such as outputs without -o, the table of bench, an explanation; a verdict is the exit status.
/// Verbose: everything that the report knows.
enum class Verbosity { quiet, normal, verbose };

/// Adds -q,--quiet and -v,--verbose. `verbosity` must outlive the command.
void add_verbosity_options(CLI::App& command, Verbosity& verbosity);

/// Progress on standard error: on a terminal a bar with the remaining time, else a line now and then for work
/// that takes seconds; verbose also a line for each phase that took a tenth of a second. Never goes back.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(Verbosity verbosity);
  ~ProgressDisplay();  // erases the bar
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  /// Shows that `part` of all work is done and this phase is in progress.
  void show(const std::string& phase, double part);
  /// Erases the bar, so that other output can follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void end_phase();
  void draw_bar();
  void print_line();
  std::string time_left() const;

  const Verbosity verbosity_;
  const bool terminal_;
  bool drawn_ = false;
  double part_ = 0;
  std::string phase_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point phase_start_ = start_, last_line_ = start_;
  double next_line_ = 0.1;
};
