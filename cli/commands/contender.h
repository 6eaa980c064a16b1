// Contenders of bench, each in a process of its own, and the rounds of timing.
#pragma once

#include <functional>
#include <intarsia/intarsia_compile.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/system/worker.h"

/// Work that a contender opens: files, because it opens them in another process.
struct Work {
  std::string path;  // program (intarsia) or model (all others)
  int threads = 1;
  Json inputs;                            // [{"name","dtype" (intarsia_dtype),"file"}]
  std::string folder;                     // folder for its outputs
  std::string signature;                  // signature of a SavedModel
  std::vector<std::string> op_libraries;  // libraries of the user's TensorFlow operators
  std::string precision;                  // precision of products of f32: "f32", "bf16", "f16"
  std::vector<std::string> devices;       // devices that each run the whole program; empty: its stages run
};

/// Returns the precision that a contender gets with {"open": work}.
intarsia::Precision precision_of(const Json& work);

class Contender {
 public:
  /// Function that answers {"open": work} with an object with "version" and "outputs", and other requests of
  /// its own.
  using Serve = std::function<Json(const Json& request)>;

  virtual ~Contender() = default;

  /// Opens `work` in place of earlier work, runs it a few times, and returns the outputs:
  /// [{"name","dtype","file"}].
  Json open(const Work& work);
  /// Runs a round, which counts if the processes of all others were idle meanwhile.
  void run_round(const std::vector<std::unique_ptr<Contender>>& all);

  const std::string& runtime() const { return runtime_; }
  size_t rounds() const { return rounds_; }
  /// Returns which process was not idle when a round was last discarded, as a message; empty if none was.
  const std::string& disturber() const { return disturber_; }
  /// Returns an entry of `results` (docs/json.md).
  virtual Json report() const = 0;

 protected:
  /// Starts its process; call it before any library is opened.
  Contender(std::string runtime, std::string configuration, const Serve& serve);

  Json ask(const Json& request) { return worker_.ask(request); }
  double peak_rss_mb() const { return worker_.peak_rss_mb(); }
  /// Returns the first fields of an entry, which all contenders have.
  Json describe() const;
  /// Sets "configuration" of the report; empty becomes null.
  void set_configuration(std::string configuration) { configuration_ = std::move(configuration); }

 private:
  /// Prepares for rounds, given the answer to "open".
  virtual void prepare_rounds(const Json& opened) = 0;
  virtual Json round_request() const = 0;
  /// Adds the answer of a round, for which its process used `cpu_seconds`.
  virtual void add_round(const Json& answer, double cpu_seconds) = 0;

  std::string runtime_, configuration_, version_, disturber_;
  Worker worker_;
  size_t rounds_ = 0, discarded_ = 0;
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

/// Writes files to `folder` and returns [{"name","dtype","file"}]. Throws for a value that is not a tensor.
Json write_outputs(const std::vector<intarsia::Value>& outputs, const std::string& folder);

/// Returns the value below which `part` (0 to 1) of the sorted numbers lies, by nearest rank.
double percentile(const std::vector<double>& sorted, double part);
std::vector<double> sorted(std::vector<double> numbers);

/// Runs rounds in turn for about `seconds`, until at least three of each contender count. Throws if the
/// machine never gets quiet enough for that. Delays each turn until each of `threads` threads has its own
/// core, in total for at most three times `seconds`; returns how many seconds that took. `progress` gets the
/// finished part, 0 to 1.
double measure(const Contenders& contenders, int threads, double seconds,
               const std::function<void(double)>& progress);
