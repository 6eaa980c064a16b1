#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

Status einsum(KernelContext& context);

}  // namespace intarsia::reference
