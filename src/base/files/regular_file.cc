#include "base/files/regular_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace intarsia {

const char* kind_of_file(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

Result<RegularFile> RegularFile::open(const std::string& path) {
  RegularFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts = {};
  if (file.descriptor_ < 0 || fstat(file.descriptor_, &facts) != 0)
    return fail(kind_of_errno(errno), "{}", std::strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return fail(ErrorKind::io, "it is {}, not a regular file", kind_of_file(facts.st_mode));
  file.bytes_ = static_cast<size_t>(facts.st_size);
  return file;
}

Result<RegularFile> RegularFile::of_bytes(std::span<const std::byte> bytes, const std::string& name) {
  constexpr size_t max_name_bytes = 200;  // limit of the system: 249
  RegularFile file(memfd_create(name.substr(0, max_name_bytes).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.descriptor_ < 0) return fail(kind_of_errno(errno), "{}", std::strerror(errno));
  while (file.bytes_ < bytes.size()) {
    const ssize_t count = write(file.descriptor_, bytes.data() + file.bytes_, bytes.size() - file.bytes_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(kind_of_errno(errno), "{}", std::strerror(errno));
    file.bytes_ += static_cast<size_t>(count);
  }
  fcntl(file.descriptor_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return file;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status check_regular_file(const std::string& path) {
  TRY(with_context(RegularFile::open(path), "cannot open '{}'", path));
  return {};
}

Status check_regular_files_in(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!entry.is_directory(error)) TRY(check_regular_file(entry.path().string()));
  }
  return {};
}

}  // namespace intarsia
