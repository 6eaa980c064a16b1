// Whether all the cores that a measurement counts on are available.
#pragma once

#include "base/thread_pool.h"

namespace intarsia {

/// Does each thread of the pool have its own core now? Other programs take cores away, and two cores of
/// a virtual machine may be one core's two hyperthreads for a while. Takes up to a millisecond.
bool has_free_cores(ThreadTeam& team);

}  // namespace intarsia
