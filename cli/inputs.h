// Inputs of run, check and bench.
#pragma once

#include <CLI/CLI.hpp>
#include <intarsia/intarsia.hpp>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "input_file.h"
#include "print.h"

/// What `-i` said, as often as there are inputs, and what is done to pictures.
struct InputOptions {
  std::vector<std::string> texts;
  PictureOptions picture;
};

/// `-i` and the options of pictures. `options` must outlive the command.
CLI::Option* add_input_option(CLI::App& command, InputOptions& options);

/// The files that the options name.
std::vector<std::string> input_files(const InputOptions& options);

/// Inputs by name, each with the place of its value. Throws UsageError for other text and for a name given
/// twice.
std::map<std::string, InputSource> parse_inputs(const InputOptions& options,
                                                const std::vector<intarsia::Argument>& inputs);

/// A value for each input of a function: from its file, or filled.
class InputValues {
 public:
  /// Throws for a file that cannot be read or that no input takes.
  InputValues(const std::vector<intarsia::Argument>& inputs, const InputOptions& options);
  InputValues(const InputValues&) = delete;
  InputValues& operator=(const InputValues&) = delete;

  /// In the function's order; their memory is this object's.
  const std::vector<intarsia_tensor>& tensors() const { return tensors_; }
  /// [{"name","dtype","shape","filled","conversion"}]
  const Json& notes() const { return notes_; }

 private:
  std::vector<intarsia::Argument> inputs_;  // owns the names that the tensors point to
  std::list<Array> arrays_;                 // memory of the tensors
  std::list<intarsia::View> views_;         // owns the shapes that they point to
  std::vector<intarsia_tensor> tensors_;
  Json notes_ = Json::array();
};

/// "a/b:0" -> "a_b_0": what any file system accepts; never the same twice from one object.
class FileNames {
 public:
  std::string make(const std::string& name);

 private:
  std::map<std::string, int> used_;
};
