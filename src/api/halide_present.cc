#include "api/toolbox.h"
#include "backends/halide/target.h"

namespace intarsia {

TargetResult open_halide_target() { return halide::make_target(); }

}  // namespace intarsia
