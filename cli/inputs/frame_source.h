// Source of a pipeline's inputs, frame by frame.
#pragma once

#include <intarsia/intarsia.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/inputs/input_folder.h"

/// Inputs of a frame. `owner` keeps their memory alive.
struct SourceFrame {
  std::string name;  // file name, or number within a stack
  std::vector<intarsia_tensor> inputs;
  std::shared_ptr<const void> owner;
};

/// Source of frames: the same inputs for each; or the inputs of one file of a folder; or a row of a stack, an
/// array that has one more leading axis than an input, or more rows than an input whose first size is 1.
/// Inputs that are not stacks are the same for all frames.
class FrameSource {
 public:
  /// Throws for a file that cannot be read or that no input takes.
  FrameSource(const std::vector<intarsia::Argument>& inputs, const InputOptions& options);
  FrameSource(const FrameSource&) = delete;
  FrameSource& operator=(const FrameSource&) = delete;

  /// Returns the number of frames; nullopt if the same frame repeats as often as wanted.
  std::optional<size_t> size() const;
  /// Returns a frame; the first follows the last. Throws as the constructor does.
  SourceFrame at(size_t number) const;
  /// Returns notes as InputValues does, about the first frame or the whole stack.
  const Json& notes() const { return values_->notes(); }
  /// Returns the files of a folder that are not inputs.
  const std::vector<std::string>& left_out() const { return folder_.left_out; }
  /// Returns the files that it read or will read.
  std::vector<std::string> files() const;

 private:
  void find_rows();

  std::vector<intarsia::Argument> inputs_;
  std::optional<FolderInputs> folder_inputs_;
  InputFolder folder_;
  std::vector<std::string> read_;              // files that it reads
  std::shared_ptr<const InputValues> values_;  // values of the first frame, or of the stack
  std::optional<size_t> rows_;                 // number of rows of a stack
  /// Shape of a row of each input; nullopt where the input is not a stack.
  std::shared_ptr<std::vector<std::optional<std::vector<int64_t>>>> row_shapes_;
};
