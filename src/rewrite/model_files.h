// Files of a model that is read and written again.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/files/staged_folder.h"
#include "base/result.h"

namespace intarsia {

/// Makes the folder of the output, which appears when it is committed. Error: the output exists and may not
/// be replaced, or its parent takes no folder.
Result<StagedFolder> stage_output(const std::string& output, bool replaces);

/// Copies all files and folders but those of these names at the top.
Status copy_folder(const std::filesystem::path& from, const std::filesystem::path& to,
                   const std::vector<std::string>& without);

/// Bytes of a model's files, by what they hold.
struct ModelBytes {
  uint64_t graph = 0, variables = 0, program = 0, assets = 0, other = 0;
  uint64_t total() const { return graph + variables + program + assets + other; }
};

/// Returns the bytes of all files in the folder of a SavedModel, of which these assets are programs.
ModelBytes bytes_of_model(const std::filesystem::path& folder, const std::set<std::string>& programs);

}  // namespace intarsia
