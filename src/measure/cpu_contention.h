// Check for the cores that a measurement counts on.
#pragma once

#include "base/threads/thread_pool.h"

namespace intarsia {

/// Checks whether each thread of the team has its own core. Other programs take cores away, and two cores of
/// a virtual machine may be one core's two hyperthreads for a while. Takes up to a millisecond.
bool has_free_cores(ThreadTeam& team);

}  // namespace intarsia
