// What the modes of bench have in common: what is timed, its inputs, and comparing outputs.
#pragma once

#include <functional>
#include <intarsia/intarsia_compile.hpp>

#include "contender.h"
#include "inputs.h"
#include "profile.h"
#include "progress.h"
#include "temporary_folder.h"

struct BenchOptions {
  std::string path, model, mode = "latency";
  InputOptions inputs;
  std::vector<std::string> against;
  double seconds = 10;
  bool is_program = false;  // path
  bool json = false;
  ProfileOptions profile;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CompileOptions compile;
};

/// Called with what is being done, and how much of everything is done.
using ShowProgress = std::function<void(const std::string& phase, double part)>;

/// The report of a mode (docs/json.md), and the same for people.
Json bench_latency(const BenchOptions& options, const ShowProgress& progress);
std::string print_latency(const Json& report, const BenchOptions& options);
Json bench_throughput(const BenchOptions& options, const ShowProgress& progress);
std::string print_throughput(const Json& report, const BenchOptions& options);

/// Rough parts of a bench's time: until the model is compiled, until all runtimes have opened it.
constexpr double compiled_at = 0.4, opened_at = 0.5;

/// The program, compiled first from a model (into `folder`), and the model that it was compiled from.
struct Subject {
  std::string program, model;
  int threads = 1;
  std::string function;  // of a SavedModel: its signature
  std::vector<intarsia::Argument> inputs;
  Json compiled;  // the report of compile; null for a program
};
Subject prepare_subject(const BenchOptions& options, const intarsia::CompileOptions& compile,
                        const TemporaryFolder& folder, const ShowProgress& progress);
/// The report of compile. Progress goes from one part to another.
Json compile_for_bench(const std::string& model, const std::string& program, intarsia::CompileOptions compile,
                       double from, double to, const ShowProgress& progress);
/// Of the program.
Work make_work(const BenchOptions& options, const Subject& subject, const Json& inputs,
               const TemporaryFolder& folder);

/// The inputs as files for the contenders' processes.
Json write_inputs(const InputValues& values, const TemporaryFolder& folder);
/// A contender's outputs, as differences from those of the first.
Json compare_outputs(const Json& ours, const Json& theirs);
/// Of an entry of `results`; 0 for the first.
double largest_difference(const Json& result);
