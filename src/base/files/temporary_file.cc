#include "base/files/temporary_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace intarsia {

Result<TemporaryFile> TemporaryFile::make(const std::string& name) {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / (name + "-XXXXXX")).string();
  const int descriptor = error ? -1 : mkstemp(path.data());
  if (descriptor < 0)
    return fail(ErrorKind::io,
                "cannot create a temporary file '{}'; set TMPDIR to a folder that can be written", path);
  close(descriptor);
  return TemporaryFile(path);
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace intarsia
