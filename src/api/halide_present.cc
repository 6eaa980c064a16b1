#include "api/toolbox.h"
#include "backends/halide/target.h"

namespace intarsia {

TargetResult open_halide_target(const CompileRequest&) { return halide::make_target(); }

}  // namespace intarsia
