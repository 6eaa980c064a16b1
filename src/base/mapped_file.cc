#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace intarsia {

Result<MappedFile> map_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail("cannot open '{}': {}", path, std::strerror(errno));
  const std::shared_ptr<void> closer(nullptr, [descriptor](void*) { close(descriptor); });
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0) return fail("cannot read '{}': {}", path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return fail("'{}' is not a regular file", path);
  const size_t size = static_cast<size_t>(facts.st_size);
  if (size == 0) return MappedFile{};
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (memory == MAP_FAILED) return fail("cannot map '{}': {}", path, std::strerror(errno));
  return MappedFile{{static_cast<const std::byte*>(memory), size},
                    std::shared_ptr<void>(memory, [size](void* at) { munmap(at, size); })};
}

}  // namespace intarsia
