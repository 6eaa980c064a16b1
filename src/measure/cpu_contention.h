// Whether the machine gives all the cores that a measurement takes for granted.
#pragma once

#include "base/thread_pool.h"

namespace intarsia {

/// Does each thread of the pool have a core of its own now? Other programs take cores away, and two cores of
/// a virtual machine may be one core's two hyperthreads for a while. Takes up to a millisecond.
bool has_free_cores(ThreadPool& pool);

}  // namespace intarsia
