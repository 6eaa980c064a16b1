// Shows how far a compile is.
#pragma once

#include <string>

/// On a terminal a bar on standard error; otherwise a line a phase on standard output, so that standard error
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
  bool terminal_;
  bool drawn_ = false;
  std::string phase_;
};
