// Inputs from the files of a folder (-i FOLDER).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/inputs/inputs.h"

/// Checks whether one of the inputs names a folder.
bool has_folder(const InputOptions& inputs);

/// Files of a folder, sorted by name with numbers compared by value: frame2.npy precedes frame10.npy.
struct InputFolder {
  std::vector<std::filesystem::path> files;  // never empty
  std::vector<std::string> left_out;         // names of other files
};

/// Inputs, one of which names a folder.
class FolderInputs {
 public:
  /// Throws UsageError if several inputs do.
  explicit FolderInputs(const InputOptions& options);

  const std::string& path() const { return path_; }
  /// Lists the folder. Throws for a folder that cannot be read or has no input.
  InputFolder list() const;
  /// Returns the inputs of one run, with `file` in place of the folder.
  InputOptions with(const std::filesystem::path& file) const;

 private:
  InputOptions options_;
  size_t number_ = 0;  // index of the text with the folder
  std::string path_;
};
