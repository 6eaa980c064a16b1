#include "cli/system/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <intarsia/intarsia.hpp>

TemporaryFolder::TemporaryFolder()
    : path_((std::filesystem::temp_directory_path() / "intarsia-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr)
    throw intarsia::Error("cannot create a temporary folder '" + path_ +
                          "'; set TMPDIR to a folder that can be written");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
