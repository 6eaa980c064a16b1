// Files of a model that is read and written again.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Folder beside the one to be made, which takes its place when it is complete. Removed by the destructor if
/// it has not.
class StagedFolder {
 public:
  /// Creates the folder. Error: the output exists and may not be replaced, or its parent takes no folder.
  static Result<StagedFolder> create(const std::string& output, bool replaces);
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

/// Copies all files and folders but those of these names at the top.
Status copy_folder(const std::filesystem::path& from, const std::filesystem::path& to,
                   const std::vector<std::string>& without);

/// Writes a new file whole.
Status write_file(const std::filesystem::path& path, std::string_view bytes);

/// Bytes of a model's files, by what they hold.
struct ModelBytes {
  uint64_t graph = 0, variables = 0, program = 0, assets = 0, other = 0;
  uint64_t total() const { return graph + variables + program + assets + other; }
};

/// Returns the bytes of all files in the folder of a SavedModel, of which these assets are programs.
ModelBytes bytes_of_model(const std::filesystem::path& folder, const std::set<std::string>& programs);

}  // namespace intarsia
