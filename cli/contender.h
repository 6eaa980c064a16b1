// A runtime that bench times, and the rounds of timing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker.h"

/// What a contender opens. Files, because it opens them in another process.
struct Work {
  std::string path;  // of the program (intarsia) or the model (all others)
  int threads = 1;
  Json inputs;                            // [{"name","dtype" (intarsia_dtype),"file"}]
  std::string folder;                     // where it may write its outputs
  std::string signature;                  // of a SavedModel
  std::vector<std::string> op_libraries;  // libraries of the user's TensorFlow operators
};

class Contender {
 public:
  /// Starts its process; call it before any library is opened. `configuration` may be empty.
  Contender(std::string runtime, std::string configuration);

  /// Opens `work`, runs it a few times, and returns the outputs: [{"name","dtype","file"}].
  Json open(const Work& work);
  /// Runs a round and adds it to the times if the processes of all others were idle meanwhile.
  void run_round(const std::vector<std::unique_ptr<Contender>>& all);

  /// What a run of a program spends its time on, in runs of their own; null for other runtimes.
  Json profile();

  const std::string& runtime() const { return runtime_; }
  /// Which alternative of a program runs (docs/json.md); null for other runtimes.
  const Json& alternative() const { return alternative_; }
  size_t rounds() const { return rounds_; }
  double median_ms() const;
  /// Which process was not idle when a round was last discarded; empty if none was.
  const std::string& disturber() const { return disturber_; }
  /// An entry of `results` (docs/json.md).
  Json report() const;

 private:
  std::string runtime_, configuration_, version_, disturber_;
  Json alternative_;
  std::unique_ptr<Worker> worker_;
  size_t runs_per_round_ = 0;
  size_t rounds_ = 0, discarded_ = 0;
  double cpu_seconds_ = 0;
  std::vector<double> milliseconds_;  // of all runs that count
};

/// Rounds in turn, for about `seconds`, at least three that count of each. Throws if the machine never gets
/// quiet enough for that. Before a turn it waits until each of `threads` threads has its own core, in
/// total for at most three times `seconds`; returns how many seconds that took. `progress` gets the part
/// that is done, 0 to 1.
double measure(const std::vector<std::unique_ptr<Contender>>& contenders, int threads, double seconds,
               const std::function<void(double)>& progress);
