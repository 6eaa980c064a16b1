// Counts every call of operator new and malloc of this thread, for tests and benchmarks of runs that must
// allocate nothing. Linking count_allocations.cc replaces malloc; not together with a sanitizer.
#pragma once

#include <cstdint>

namespace intarsia::test {

/// Allocations of the calling thread since it began.
uint64_t allocation_count();

/// From the calling thread's allocation number `count` on (from now, 0 the next), each of its allocations
/// fails.
void fail_allocations_from(uint64_t count);
void allow_allocations();

}  // namespace intarsia::test
