// What bench times, in a process of its own, and the rounds of timing.
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
  std::vector<std::string> devices;       // of a program: the whole runs on each; empty: its stages
};

class Contender {
 public:
  /// Answers {"open": work} by an object with "version" and "outputs", and other requests of its own.
  using Serve = std::function<Json(const Json& request)>;

  virtual ~Contender() = default;

  /// Opens `work`, in place of what was opened before, runs it a few times, and returns the outputs:
  /// [{"name","dtype","file"}].
  Json open(const Work& work);
  /// Runs a round, which counts if the processes of all others were idle meanwhile.
  void run_round(const std::vector<std::unique_ptr<Contender>>& all);

  const std::string& runtime() const { return runtime_; }
  size_t rounds() const { return rounds_; }
  /// Which process was not idle when a round was last discarded; empty if none was.
  const std::string& disturber() const { return disturber_; }
  /// An entry of `results` (docs/json.md).
  virtual Json report() const = 0;

 protected:
  /// Starts its process; call it before any library is opened.
  Contender(std::string runtime, std::string configuration, const Serve& serve);

  Json ask(const Json& request) { return worker_.ask(request); }
  double peak_rss_mb() const { return worker_.peak_rss_mb(); }
  /// The first fields of an entry, which all have.
  Json describe() const;
  /// "configuration" of the report; empty: null.
  void set_configuration(std::string configuration) { configuration_ = std::move(configuration); }

 private:
  /// Gets the answer to "open".
  virtual void prepare_rounds(const Json& opened) = 0;
  virtual Json round_request() const = 0;
  /// `cpu_seconds`: what its process used for it.
  virtual void add_round(const Json& answer, double cpu_seconds) = 0;

  std::string runtime_, configuration_, version_, disturber_;
  Worker worker_;
  size_t rounds_ = 0, discarded_ = 0;
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

/// [{"name","dtype","file"}]: files in `folder`. Throws for what is not a tensor.
Json write_outputs(const std::vector<intarsia::Value>& outputs, const std::string& folder);

/// The value below which a part of the sorted numbers lies, by nearest rank.
double percentile(const std::vector<double>& sorted, double part);
std::vector<double> sorted(std::vector<double> numbers);

/// Rounds in turn, for about `seconds`, at least three that count of each. Throws if the machine never gets
/// quiet enough for that. Before a turn it waits until each of `threads` threads has its own core, in
/// total for at most three times `seconds`; returns how many seconds that took. `progress` gets the part
/// that is done, 0 to 1.
double measure(const Contenders& contenders, int threads, double seconds,
               const std::function<void(double)>& progress);
