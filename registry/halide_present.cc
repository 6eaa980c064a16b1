#include "backends/halide/target.h"
#include "registry/open_targets.h"

namespace intarsia {

TargetResult open_halide_target(const CompileRequest&) { return halide::make_target(); }

}  // namespace intarsia
