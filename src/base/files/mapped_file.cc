#include "base/files/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/files/regular_file.h"

namespace intarsia {

Result<MappedFile> map_file(const std::string& path) {
  const RegularFile file = TRY(with_context(RegularFile::open(path), "cannot open '{}'", path));
  const size_t size = file.bytes();
  if (size == 0) return MappedFile{};
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    return fail(kind_of_errno(errno), "cannot map '{}': {}", path, std::strerror(errno));
  return MappedFile{{static_cast<const std::byte*>(memory), size},
                    std::shared_ptr<void>(memory, [size](void* at) { munmap(at, size); })};
}

}  // namespace intarsia
