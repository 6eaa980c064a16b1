// Everything that a user asks of a compile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files/temporary_file.h"
#include "base/progress.h"
#include "base/tensor_view.h"
#include "emit_c/c_program.h"
#include "import/import_model.h"
#include "passes/fold_constants.h"
#include "plan/choose/choose_plan.h"
#include "plan/place/place_nodes.h"
#include "target/target.h"

namespace intarsia {

/// A device of the machine that the planner may choose to use.
struct CandidateDevice {
  std::string name;     // "cpu"
  std::string why_not;  // e.g. "a simulation, to try placements with"; empty if the planner may use it
};

/// Limit on the bytes that a program may take of the memory the slot works in.
struct MemoryLimit {
  std::string slot;
  uint64_t bytes = 0;
};

/// Sizes of an open symbol to be fastest at.
struct TunedSizes {
  std::string symbol;
  std::vector<int64_t> sizes;  // at least one
};

/// Goal that plans are chosen for.
enum class Objective {
  latency,    // the shortest time of one run
  throughput  // the most frames per second of a pipeline, whose stages work on one frame each
};

/// Precision of the factors of products of f32.
enum class Precision {
  f32,
  bf16,
  f16,       // weights only
  automatic  // bf16, or else f16, if the error of the outputs is small enough
};

struct CompileRequest {
  std::string model_path;
  std::vector<std::string>
      signatures;  // signatures of a SavedModel that become functions; empty for serving_default, or else all
  std::vector<std::string> op_libraries;         // TensorFlow libraries with the user's own operators
  std::string program_path;                      // empty with dry_run or stop_after
  std::vector<std::string> devices = {"cpu"};    // "cpu", "sim:0", "accel=sim:1"
  std::vector<CandidateDevice> automatic;        // devices that "auto" stands for; `devices` has usable ones
  std::vector<std::string> backends;             // names in order of preference; empty for all available ones
  std::map<std::string, RequestedShape> shapes;  // by input
  std::vector<TunedSizes> tune_at;               // each symbol once
  std::vector<Pin> pins;
  std::vector<std::string> outputs;        // values that replace the model's outputs; empty to keep them
  std::vector<std::string> also;           // slots that must suffice to run the program
  std::vector<MemoryLimit> memory_limits;  // at most one per slot
  bool allow_fallback = true;              // frameworks may run what no compiler of ours takes
  Objective objective = Objective::latency;
  Prefer prefer = Prefer::self_contained;
  std::optional<uint32_t> stages;  // stage count with throughput; nullopt for the best count
  std::vector<std::string> cuts;   // values at which stages end, with throughput; empty if the planner cuts
  int threads = 1;
  std::string cpu = "native";     // processor to generate code for (resolve_cpu)
  std::vector<std::string> cpus;  // several, the most demanding first, with a variant for each; empty for one
  bool exact_math = false;        // direct arithmetic only
  Precision precision = Precision::f32;
  double max_error = 0.01;         // with automatic precision; relative to the largest element of an output
  std::vector<NamedValue> inputs;  // inputs that this error is measured with; others are filled
  DType rounds_to = DType::f32;    // type that products of f32 may round factors to in this program
  bool prefers_size = false;       // avoid larger weights for speed, and alternatives but those of `also`
  Tune tune = Tune::fast;
  double tune_seconds = 0;      // 0 for no limit
  std::string cache_folder;     // folder of measured times and generated code; empty for the user's
  bool strip_names = false;     // leave node names out of the program
  std::string plan_path;        // plan file that places nodes, without measuring; empty for none
  std::string saved_plan_path;  // file for the plan that ships; empty for none
  bool keep_placement = false;  // ship the plan as placed, also when another is measured to be faster
  bool dry_run = false;         // do everything but write the program
  /// End of the error of operators that no backend runs.
  std::string unsupported_remedy = allow_more_backends;
  std::optional<EmitCOptions> plain_c;   // write plain C: program_path is its folder and name
  std::vector<RecordedRun> recorded;     // runs for its test
  std::vector<std::string> print_after;  // passes whose result goes to `print`
  std::string stop_after;                // pass after which the compile ends without a program
};

/// Largest difference between the outputs of a program that rounds the factors of products and of one that
/// does not.
struct RoundingError {
  std::string function, output;
  double of_largest = 0;  // relative to the largest element of the output; NaN if one of them is not finite
};

/// Outcome of asking for products of another precision.
struct PrecisionReport {
  Precision asked = Precision::f32;
  DType rounds_to = DType::f32;             // type that the program's products may round factors to
  DType tried = DType::f32;                 // type whose error was measured last
  std::optional<RoundingError> error = {};  // nullopt: not measured
  std::string why_not = {};                 // reason why it was not measured
};

/// Outcome of choosing kernels by measurement.
struct TuningReport {
  std::string disabled_reason;   // why choices are analytic; empty if they are measured
  int measured = 0;              // variants of kernels timed by this compile
  int remembered = 0;            // variants whose times were known
  int disturbed = 0;             // variants timed while other processes took cores; their times are not kept
  int untimed = 0;               // variants without a time
  int disturbed_boundaries = 0;  // prices of boundaries measured while other processes took cores; not kept
  std::string warning;           // problem with the file of times
  /// Machine whose times chose kernels in place of this one's; nullopt if none did.
  std::optional<ImportedTimes> imported = {};
  std::string imported_for = {};  // processor that they were imported for
};

/// Options for timing and comparing programs that are plans of one model.
struct TimingOptions {
  int threads = 1;
  double rtol = 1e-3;               // tolerance between their values, relative to the largest
  std::optional<size_t> trusted;    // program that is right where votes are evenly divided
  std::set<size_t> stand_ins;       // programs with devices that only take time, and so have no values
  std::set<size_t> in_frameworks;   // programs with regions in frameworks, whose loading is limited
  std::function<bool()> may_go_on;  // polled; once false, nothing more is loaded and no other round starts
};

/// Measurements on this machine; those that cannot be made are empty.
struct Measuring {
  /// Times kernels (Tuner::time_kernels) that the named backend compiled.
  std::function<Result<std::vector<Timing>>(const std::string& backend, const KernelBatch& batch,
                                            const std::string& device, int threads)>
      time_kernels;
  /// Checks whether a device of this name exists.
  std::function<bool(const std::string& device)> has_device;
  /// Returns the nanoseconds that a fixed computation takes now (measure/probe.h).
  std::function<int64_t()> probe;
  /// Returns the most f32 operations per nanosecond that a core can do (measure/peak.h).
  std::function<double()> peak;
  /// Returns the cost of a copy between the memories of two devices, given by name.
  std::function<Result<LinkCost>(const std::string& from, const std::string& to)> time_link;
  /// Times runs of program files on filled inputs, in turns, and compares their values; files are removed
  /// once they are open. Returns one result per program.
  std::function<std::vector<Result<PlanTimes>>(std::vector<TemporaryFile> programs,
                                               const TimingOptions& options)>
      time_programs;
  /// Measures the error of a program that rounds products, from one that does not (measure_rounding.h).
  std::function<Result<RoundingError>(const std::string& rounded, const std::string& exact,
                                      const CompileRequest& request)>
      measure_rounding;
  /// Runs each function of a program file on the inputs of the request (others are filled).
  std::function<Result<std::vector<RecordedRun>>(const std::string& program, const CompileRequest& request)>
      record_runs;
};

/// Facts about devices, by name.
struct DeviceFacts {
  /// Returns how many regions a device runs at once; empty to skip the query. Error: its name has invalid
  /// settings.
  std::function<Result<uint32_t>(const std::string& device)> count_queues;
  /// Returns the features of the named device; empty for those of the host.
  std::function<DeviceFeatures(const std::string& device)> features;
};

/// Caller's view of a compile: what it is shown, and how it ends it.
struct Observer {
  std::function<void(const std::string& text)> print;  // receives the output of --print-after
  Progress progress;                                   // a compile is one unit of it
  std::function<bool()> is_cancelled;  // asked several times a second; empty if never cancelled
};

/// Services that compiling relies on; wired together in registry/.
struct CompileServices {
  std::vector<std::unique_ptr<Target>> backends;  // in order of preference
  std::unique_ptr<Target>
      control_flow;             // runs branches and loops by bodies that backends of ours take, or null
  Evaluate evaluate;            // runs a node now, for constants
  TensorFlowSource tensorflow;  // services for the importer of TensorFlow models
  DeviceFacts devices;
  Measuring measuring;
  /// Takes the kernels that a compile wants to time, for another machine to do so; empty if they are timed
  /// here.
  std::function<void(const KernelBatch& batch)> take_kernels;
  Observer observer;
};

/// Returns the error "interrupted" when the compile is cancelled.
Status check_not_cancelled(const Observer& observer);

}  // namespace intarsia
