#include "base/files/temporary_folder.h"

#include <cstdlib>

namespace intarsia {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make(const std::string& name) {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / (name + "-XXXXXX")).string();
  if (error || mkdtemp(path.data()) == nullptr)
    return fail(ErrorKind::io,
                "cannot create a temporary folder '{}'; set TMPDIR to a folder that can be written", path);
  return TemporaryFolder(fs::path(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace intarsia
