// Whether this process is a copy of another: a child of fork() has the memory of its parent, but not its
// threads.
#pragma once

#include <cstdint>

namespace intarsia {

/// How many times fork() lies between the process that called this first and this one.
uint32_t fork_count();

}  // namespace intarsia
