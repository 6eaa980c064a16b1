// Detection of forked processes: a child of fork() has the memory of its parent, but not its threads.
#pragma once

#include <cstdint>

namespace intarsia {

/// Returns the number of forks between the process that first called this function and this process.
uint32_t fork_count();

}  // namespace intarsia
