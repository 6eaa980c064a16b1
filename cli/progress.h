// Shows how far a compile is.
#pragma once

#include <chrono>
#include <string>

/// On a terminal a bar on standard error, with the time that is left where a phase takes long; otherwise a line a phase on standard output, so that standard error
/// holds errors alone.
class ProgressDisplay {
 public:
  ProgressDisplay();
  ~ProgressDisplay();  // wipes the bar
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  void show(const std::string& phase, int done, int total);
  /// Wipes the bar, so that other output can follow.
  void clear();

 private:
  std::string time_left(double part) const;

  bool terminal_;
  bool drawn_ = false;
  std::string phase_;
  std::chrono::steady_clock::time_point start_;  // of the phase
};
