#include "backends/halide/build/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace intarsia::halide {

Result<MemoryFile> MemoryFile::make() {
  const int descriptor = memfd_create("intarsia-kernel", MFD_CLOEXEC);
  if (descriptor < 0)
    return fail("cannot create a file in memory for a kernel's code: {}", std::strerror(errno));
  return MemoryFile(descriptor);
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::string MemoryFile::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

Status MemoryFile::write(const std::string& bytes) const {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t put = pwrite(descriptor_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail("cannot write a kernel's code: {}", std::strerror(errno));
    at += static_cast<size_t>(put);
  }
  return {};
}

Result<std::string> MemoryFile::read_all() const {
  const off_t size = lseek(descriptor_, 0, SEEK_END);
  std::string bytes(static_cast<size_t>(std::max<off_t>(size, 0)), '\0');
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t got = pread(descriptor_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("cannot read a kernel's code back: {}", std::strerror(errno));
    at += static_cast<size_t>(got);
  }
  if (bytes.empty()) return fail("no code was generated for a kernel");
  return bytes;
}

}  // namespace intarsia::halide
