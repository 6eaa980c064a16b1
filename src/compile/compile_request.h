// What a user asks of a compile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/temporary_file.h"
#include "import/import_model.h"
#include "passes/fold_constants.h"
#include "plan/choose_plan.h"
#include "target/target.h"

namespace intarsia {

/// A device of the machine, where the user leaves it to the planner which to use.
struct OfferedDevice {
  std::string name;     // "cpu"
  std::string why_not;  // "a simulation, to try placements with"; empty: the planner may use it
};

/// The most bytes that a program may take of the memory that the slot works in.
struct MemoryLimit {
  std::string slot;
  uint64_t bytes = 0;
};

/// What plans are chosen for.
enum class Objective {
  latency,    // a run takes as little time as can be
  throughput  // a pipeline, whose stages work on one frame each, takes as many frames as can be
};

struct CompileRequest {
  std::string model_path;
  std::vector<std::string>
      signatures;  // of a SavedModel, each a function; empty: serving_default, or else all
  std::vector<std::string> op_libraries;       // of TensorFlow: the user's own operators
  std::string program_path;                    // empty with dry_run or stop_after
  std::vector<std::string> devices = {"cpu"};  // "cpu", "sim:0", "accel=sim:1"
  std::vector<OfferedDevice> automatic;        // those that "auto" stood for: `devices` has what may be used
  std::vector<std::string> backends;           // names in order of preference; empty: all that there are
  std::map<std::string, Shape> shapes;         // input -> shape
  std::vector<Pin> pins;
  std::vector<std::string> outputs;  // values that are the outputs instead of the model's own; empty: its own
  std::vector<std::string> also;     // slots that must be enough to run the program
  std::vector<MemoryLimit> memory_limits;  // of one slot at most one
  bool allow_fallback = true;              // frameworks may run what no compiler of ours takes
  Objective objective = Objective::latency;
  Prefer prefer = Prefer::self_contained;
  std::optional<uint32_t> stages;  // with throughput: how many; nothing: as many as are best
  std::vector<std::string> cuts;   // with throughput: values at which stages end; empty: the planner cuts
  int threads = 1;
  std::string cpu = "native";  // native, x86-64-v2, x86-64-v3, x86-64-v4
  bool exact_math = false;     // direct arithmetic only
  bool prefers_size = false;   // no larger weights for speed, no alternatives but those of `also`
  Tune tune = Tune::fast;
  double tune_seconds = 0;       // 0: as long as it takes
  std::string cache_folder;      // of measured times; empty: the user's
  bool strip_names = false;      // leave node names out of the program
  std::string plan_path;         // places nodes as a plan file says, and nothing is measured; empty: no file
  std::string saved_plan_path;   // where the plan that ships is written; empty: nowhere
  bool only_remembered = false;  // nothing is measured; with stop_after, known times are still told
  bool keep_placement = false;   // ship the plan as placed, also when another is measured to be faster
  bool dry_run = false;          // everything but writing
  std::vector<std::string> print_after;  // passes whose result goes to `print`
  std::string stop_after;                // pass after which the compile ends without a program
};

/// What choosing kernels by measurement came to.
struct TuningReport {
  std::string disabled_reason;  // why choices are analytic; empty: they are measured
  int measured = 0;             // variants of kernels timed by this compile
  int remembered = 0;           // variants whose times were known
  int disturbed = 0;            // of those timed: while other processes took cores; their times are not kept
  std::string warning;          // trouble with the file of times
};

/// How programs that are plans of one model are timed and compared.
struct TimingOptions {
  int threads = 1;
  double rtol = 1e-3;               // what their values may differ by, as a part of the largest
  std::optional<size_t> trusted;    // the program that is right where they are divided evenly
  std::set<size_t> stand_ins;       // programs with devices that only take time: they have no values
  std::set<size_t> in_frameworks;   // programs with regions in frameworks: loading them is limited
  std::function<bool()> may_go_on;  // when it says no, nothing more is loaded and no other round begins
};

/// What compiling is made with; wired together in registry/.
struct BackendRegistry {
  std::vector<std::unique_ptr<Target>> targets;        // in order of preference
  Evaluate evaluate;                                   // runs a node now, for constants
  TensorFlowSource tensorflow;                         // what the importer of TensorFlow models asks
  std::function<void(const std::string& text)> print;  // where --print-after goes
  Progress progress;                                   // a compile is one unit of it
  std::function<bool()> is_cancelled;                  // asked several times a second; empty: never
  /// Times kernels (Tuner::time_kernels) that the named backend compiled; empty: nothing can be measured.
  std::function<Result<std::vector<Timing>>(const std::string& backend, const KernelBatch& batch,
                                            const std::string& device, int threads)>
      time_kernels;
  /// Is there a device of this name? There if anything can be measured.
  std::function<bool(const std::string& device)> has_device;
  /// Nanoseconds that a fixed computation takes now (measure/probe.h); there if anything can be measured.
  std::function<int64_t()> probe;
  /// f32 operations per nanosecond that a core can do at most (measure/peak.h); empty: not known.
  std::function<double()> peak;
  /// What a copy takes between the memories of two devices, by their names; there if anything can be
  /// measured.
  std::function<Result<LinkCost>(const std::string& from, const std::string& to)> time_link;
  /// Of the device of this name; empty: the host's.
  std::function<DeviceFeatures(const std::string& device)> device_features;
  /// Times runs of program files on filled inputs, in turns, and compares their values; they are removed as
  /// soon as they are open. One result a program. Empty: nothing can be measured.
  std::function<std::vector<Result<PlanTimes>>(std::vector<TemporaryFile> programs,
                                               const TimingOptions& options)>
      time_programs;
};

/// The error "interrupted" when the compile is cancelled.
Status check_not_cancelled(const BackendRegistry& tools);

}  // namespace intarsia
