#include "tests/support/count_allocations.h"

#include <cstddef>

// Names that glibc itself has for the replaced functions; operator new and aligned_alloc also end in these.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {
thread_local uint64_t count = 0;
thread_local uint64_t fail_from = UINT64_MAX;

/// Counts an allocation; returns whether it may succeed.
bool may_allocate() { return count++ < fail_from; }
}  // namespace

extern "C" void* malloc(size_t bytes) { return !may_allocate() ? nullptr : __libc_malloc(bytes); }
extern "C" void* calloc(size_t items, size_t bytes) {
  return !may_allocate() ? nullptr : __libc_calloc(items, bytes);
}
extern "C" void* realloc(void* old, size_t bytes) {
  return !may_allocate() ? nullptr : __libc_realloc(old, bytes);
}
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  return !may_allocate() ? nullptr : __libc_memalign(alignment, bytes);
}

namespace intarsia::test {
uint64_t allocation_count() { return count; }
void fail_allocations_from(uint64_t number) { fail_from = count + number; }
void allow_allocations() { fail_from = UINT64_MAX; }
}  // namespace intarsia::test
