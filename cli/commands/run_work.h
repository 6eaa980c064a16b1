// Parts that the ways to run share: what runs, and its outputs.
#pragma once

#include <intarsia/intarsia_compile.hpp>
#include <memory>

#include "cli/inputs/given_shapes.h"
#include "cli/results/outputs.h"
#include "cli/results/profile.h"
#include "cli/system/temporary_folder.h"
#include "cli/text/progress.h"

struct RunOptions {
  std::string path;  // program, or model that is compiled first
  std::string function, folder, dump, trace;
  std::string pipeline, html;  // files
  InputOptions inputs;
  std::vector<std::string> bindings;
  int runs = 0;     // number of timed runs; 0: a single cold one
  double rate = 0;  // frames that a pipeline gets per second; 0: as fast as they are taken
  ProfileOptions profile;
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CompileOptions compile;  // threads are also those of a run
};

/// Program of a run.
class Runnable {
 public:
  /// Compiles a model, which takes a while and shows progress.
  explicit Runnable(const RunOptions& options);

  const std::string& program() const { return program_; }
  /// Returns {"program","model"}, where only the one that the user gave is not null.
  Json describe() const;

 private:
  std::string given_;
  std::unique_ptr<TemporaryFolder> folder_;  // folder of the program of a model
  std::string program_;
};

/// Checks whether `path` must be compiled first; false for a program, and for a file that does not exist.
bool is_model_to_run(const std::string& path);
/// Returns the shapes at which to fill the inputs of a program; none of a model, which is compiled for them.
std::vector<GivenShape> shapes_to_run_at(const RunOptions& options);

/// Bound program and its runs.
class Run {
 public:
  Run(const RunOptions& options, const std::string& program);
  ~Run() { release_outputs(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Sets the inputs of the following runs; those without a file are filled at these shapes.
  void set_inputs(const InputOptions& options, const std::vector<GivenShape>& shapes);
  /// Runs once; returns the wall time in milliseconds.
  double run();
  intarsia::Profile profile(size_t runs);

  const intarsia::Function& function() const { return function_; }
  intarsia::Alternative alternative() const;
  int threads() const { return threads_; }
  uint32_t compiled_for() const { return compiled_for_; }
  intarsia::Session& session() { return session_; }
  /// Returns the outputs of the last run.
  const std::vector<intarsia_tensor>& outputs() const { return outputs_; }
  const Json& input_notes() const { return inputs_->notes(); }
  /// Returns the open sizes of the last run: {"batch": 4}.
  Json sizes() const { return sizes_of_run(function_, inputs_->tensors()); }

 private:
  void release_outputs();

  intarsia::Program program_;
  intarsia::Function function_;
  uint32_t compiled_for_;
  int threads_;
  intarsia::Session session_;
  std::unique_ptr<InputValues> inputs_;
  std::vector<intarsia_tensor> outputs_;
};

/// Returns the files that a run reads, which no output may replace.
std::vector<std::string> files_read(const RunOptions& options);

/// Returns the first fields of a report: what ran.
Json describe_run(const Runnable& runnable, const Run& run);
/// Formats a note on a run on another number of threads than the program was compiled for; else empty.
std::string print_threads(const Json& report);
