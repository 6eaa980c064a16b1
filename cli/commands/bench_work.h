// Parts that the modes of bench share: the subject, its inputs, and comparing outputs.
#pragma once

#include <functional>
#include <intarsia/intarsia_compile.hpp>

#include "cli/commands/contender.h"
#include "cli/inputs/given_shapes.h"
#include "cli/results/profile.h"
#include "cli/system/temporary_folder.h"
#include "cli/text/progress.h"

struct BenchOptions {
  std::string path, model, mode = "latency";
  InputOptions inputs;
  std::vector<std::string> against;
  double seconds = 10;
  bool is_program = false;  // whether `path` names a program
  bool json = false;
  ProfileOptions profile;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CompileOptions compile;
};

/// Callback that gets the current phase and the finished part of all work, 0 to 1.
using ShowProgress = std::function<void(const std::string& phase, double part)>;

/// Measures in one mode and returns its report (docs/json.md); the print functions format it for people.
/// Latency has a report for each shape to measure at.
std::vector<Json> bench_latency(const BenchOptions& options, const ShowProgress& progress);
std::string print_latency(const std::vector<Json>& reports, const BenchOptions& options);
Json bench_throughput(const BenchOptions& options, const ShowProgress& progress);
std::string print_throughput(const Json& report, const BenchOptions& options);

/// Rough parts of a bench's time: until the model is compiled, and until all runtimes have opened it.
constexpr double compiled_at = 0.4, opened_at = 0.5;

/// Program to time, compiled first from a model (into `folder`) if need be, and the model that it was
/// compiled from.
struct Subject {
  std::string program, model;
  int threads = 1;
  intarsia::Function function;  // for a SavedModel its name is a signature
  /// Its inputs at each shape to measure at, in turn; at least one.
  std::vector<std::vector<intarsia::Argument>> inputs;
  Json compiled;          // report of compile; null for a program
  std::string precision;  // precision of its products of f32: "f32", "bf16", "f16"
};
/// Returns how many shapes there are to measure at. Throws UsageError for --shape that says none.
size_t count_shapes(const BenchOptions& options);
Subject prepare_subject(const BenchOptions& options, const intarsia::CompileOptions& compile,
                        const TemporaryFolder& folder, const ShowProgress& progress);
/// Compiles `model` to `program` and returns the report of compile. Progress goes from `from` to `to`.
Json compile_for_bench(const std::string& model, const std::string& program, intarsia::CompileOptions compile,
                       double from, double to, const ShowProgress& progress);
/// Returns the work of opening the program.
Work make_work(const BenchOptions& options, const Subject& subject, const Json& inputs,
               const TemporaryFolder& folder);

/// Writes the inputs as files for the contenders' processes.
Json write_inputs(const InputValues& values, const TemporaryFolder& folder);
/// Returns the differences of a contender's outputs from those of the first, whose products of f32 have this
/// precision.
Json compare_outputs(const Json& ours, const Json& theirs, const std::string& precision);
/// Returns the largest difference in an entry of `results`; 0 for the first.
double largest_difference(const Json& result);
