// What the ways to run have in common: what runs, and its outputs.
#pragma once

#include <intarsia/intarsia_compile.hpp>
#include <memory>

#include "inputs.h"
#include "outputs.h"
#include "profile.h"
#include "progress.h"
#include "temporary_folder.h"

struct RunOptions {
  std::string path;  // a program, or a model that is compiled first
  std::string function, folder, dump, trace;
  std::string pipeline, html;  // files
  InputOptions inputs;
  std::vector<std::string> bindings;
  int runs = 0;  // 0: one
  ProfileOptions profile;
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CompileOptions compile;  // its threads are also those of a run
};

/// The program of a run.
class Runnable {
 public:
  /// Compiles a model, which takes a while and shows it.
  explicit Runnable(const RunOptions& options);

  const std::string& program() const { return program_; }
  /// {"program","model"}: which of both the user gave.
  Json describe() const;

 private:
  std::string given_;
  std::unique_ptr<TemporaryFolder> folder_;  // of the program of a model
  std::string program_;
};

/// False for what is to be run as it is, or does not exist.
bool is_model_to_run(const std::string& path);

/// A program, bound, and its runs.
class Run {
 public:
  Run(const RunOptions& options, const std::string& program);
  ~Run() { release_outputs(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Of the following runs.
  void set_inputs(const InputOptions& options);
  /// Wall time in milliseconds.
  double run();
  intarsia::Profile profile(size_t runs);

  const intarsia::Function& function() const { return function_; }
  intarsia::Alternative alternative() const;
  int threads() const { return threads_; }
  uint32_t compiled_for() const { return compiled_for_; }
  intarsia::Session& session() { return session_; }
  /// Of the last run.
  const std::vector<intarsia_tensor>& outputs() const { return outputs_; }
  const Json& input_notes() const { return inputs_->notes(); }

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

/// The files that a run reads, which no output may replace.
std::vector<std::string> files_read(const RunOptions& options);

/// The first fields of a report: what ran.
Json describe_run(const Runnable& runnable, const Run& run);
/// Of a run on another number of threads than the program was compiled for; else empty.
std::string print_threads(const Json& report);
