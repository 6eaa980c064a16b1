// Counts every call of operator new and malloc of this thread, for tests and benchmarks of runs that must
// allocate nothing. Linking count_allocations.cc replaces malloc, so it excludes sanitizers.
#pragma once

#include <cstdint>

namespace intarsia::test {

/// Returns the number of allocations of the calling thread since it started.
uint64_t allocation_count();

/// Makes all allocations of the calling thread fail from number `count` on, where 0 is the next one.
void fail_allocations_from(uint64_t count);
void allow_allocations();

}  // namespace intarsia::test
