// Inputs of run, check and bench.
#pragma once

#include <CLI/CLI.hpp>
#include <intarsia/intarsia.hpp>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "npy.h"
#include "print.h"

/// `-i NAME=FILE.npy`, as often as there are inputs. `texts` must outlive the command.
void add_input_option(CLI::App& command, std::vector<std::string>& texts);

/// "NAME=FILE.npy" -> (name, file), split at the last equals sign. Throws UsageError for other text and for a
/// name given twice.
std::map<std::string, std::string> parse_input_files(const std::vector<std::string>& texts);

/// A value for each input of a function: from its file, or filled.
class InputValues {
 public:
  /// `files` by input. Throws for a file that cannot be read or that no input takes.
  InputValues(const std::vector<intarsia::Argument>& inputs, std::map<std::string, std::string> files);
  InputValues(const InputValues&) = delete;
  InputValues& operator=(const InputValues&) = delete;

  /// In the function's order; their memory is this object's.
  const std::vector<intarsia_tensor>& tensors() const { return tensors_; }
  /// [{"name","dtype","shape","filled"}]
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
