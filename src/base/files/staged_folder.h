// Folders that a user names for writing.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace intarsia {

/// Folder beside the one to be made, which takes its place when it is complete. Removed by the destructor if
/// it has not.
class StagedFolder {
 public:
  /// Creates the folder. Error: the parent of the output takes no folder.
  static Result<StagedFolder> create(const std::string& output);
  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Moves the folder to its place; an older one there is removed afterwards.
  Status commit();

 private:
  StagedFolder(std::filesystem::path path, std::filesystem::path output)
      : path_(std::move(path)), output_(std::move(output)) {}

  std::filesystem::path path_, output_;  // `path_` is empty after a move or a commit
};

}  // namespace intarsia
