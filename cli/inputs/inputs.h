// Inputs of run, check and bench.
#pragma once

#include <CLI/CLI.hpp>
#include <intarsia/intarsia.hpp>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "cli/inputs/input_file.h"
#include "cli/text/print.h"

/// Values of `-i`, one per use, and options for pictures.
struct InputOptions {
  std::vector<std::string> texts;
  PictureOptions picture;
};

/// Adds `-i` and the options for pictures. `options` must outlive the command.
CLI::Option* add_input_option(CLI::App& command, InputOptions& options);

/// Returns the files that the options name.
std::vector<std::string> input_files(const InputOptions& options);

/// Returns inputs by name, each with the location of its value. Throws UsageError for other text and for a
/// name given twice.
std::map<std::string, InputSource> parse_inputs(const InputOptions& options,
                                                const std::vector<intarsia::Argument>& inputs);

/// Values for the inputs of a function, each from its file or filled.
class InputValues {
 public:
  /// Throws for a file that cannot be read or that no input takes.
  InputValues(const std::vector<intarsia::Argument>& inputs, const InputOptions& options);
  InputValues(const InputValues&) = delete;
  InputValues& operator=(const InputValues&) = delete;

  /// Returns the tensors in the function's order; this object owns their memory.
  const std::vector<intarsia_tensor>& tensors() const { return tensors_; }
  /// Returns [{"name","dtype","shape","filled","conversion"}].
  const Json& notes() const { return notes_; }

 private:
  std::vector<intarsia::Argument> inputs_;  // owns the names that the tensors point to
  std::list<Array> arrays_;                 // memory of the tensors
  std::list<intarsia::View> views_;         // owns the shapes that they point to
  std::vector<intarsia_tensor> tensors_;
  Json notes_ = Json::array();
};

/// Maker of file names that any file system accepts, "a_b_0" for "a/b:0"; one object never makes a name
/// twice.
class FileNames {
 public:
  std::string make(const std::string& name);

 private:
  std::map<std::string, int> used_;
};
