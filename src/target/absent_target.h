// Stand-ins for backends that cannot be used.
#pragma once

#include <memory>
#include <string>

#include "target/target.h"

namespace intarsia {

/// Makes an unavailable backend, which refuses all nodes with `reason`, which includes a remedy.
std::unique_ptr<Target> make_absent_target(const std::string& name, const std::string& reason,
                                           bool is_framework);

/// Makes the backend "nobody", which accepts all nodes, so that `explain` can show a model that cannot be
/// compiled. It must never compile anything.
std::unique_ptr<Target> make_nobody_target();

}  // namespace intarsia
