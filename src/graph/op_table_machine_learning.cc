#include "graph/op_families.h"

namespace intarsia {

std::span<const OpInfo> machine_learning_ops() { return {}; }

}  // namespace intarsia
