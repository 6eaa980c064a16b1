#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

// tree_ensemble.cc
Status tree_ensemble(KernelContext& context);
Status tree_regressor(KernelContext& context);

}  // namespace intarsia::reference
