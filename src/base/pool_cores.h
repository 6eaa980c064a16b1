// The cores of libraries that have one pool of threads in a process.
#pragma once

#include <string>

#include "base/core_set.h"

namespace intarsia {

/// From the first call on the process holds the pool of `library` to these cores; null: to none in
/// particular. Error: it holds it to others, whose threads would be shared. Thread-safe.
Status hold_pool(const std::string& library, const CoreSet* cores);

}  // namespace intarsia
