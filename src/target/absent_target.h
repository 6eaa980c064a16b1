// Stand-ins for backends that cannot be used.
#pragma once

#include <memory>
#include <string>

#include "target/target.h"

namespace intarsia {

/// A backend that is not available: refuses every node with `reason`, which says what to do.
std::unique_ptr<Target> make_absent_target(const std::string& name, const std::string& reason,
                                           bool is_framework);

/// "nobody": takes every node, so that `explain` can show a model that cannot be compiled. Must not compile
/// anything.
std::unique_ptr<Target> make_nobody_target();

}  // namespace intarsia
