// Counts every call of operator new and malloc of this thread, for tests and benchmarks of runs that must
// allocate nothing. Linking count_allocations.cc replaces malloc; not together with a sanitizer.
#pragma once

#include <cstdint>

namespace intarsia::test {

/// Allocations of the calling thread since it began.
uint64_t allocation_count();

}  // namespace intarsia::test
