#include "tests/count_allocations.h"

#include <cstddef>

// glibc's own names of what is replaced here; operator new and aligned_alloc end in these too.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {
thread_local uint64_t count = 0;
}

extern "C" void* malloc(size_t bytes) {
  ++count;
  return __libc_malloc(bytes);
}
extern "C" void* calloc(size_t items, size_t bytes) {
  ++count;
  return __libc_calloc(items, bytes);
}
extern "C" void* realloc(void* old, size_t bytes) {
  ++count;
  return __libc_realloc(old, bytes);
}
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  ++count;
  return __libc_memalign(alignment, bytes);
}

namespace intarsia::test {
uint64_t allocation_count() { return count; }
}  // namespace intarsia::test
