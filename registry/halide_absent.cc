#include "registry/open_targets.h"

namespace intarsia {

TargetResult open_halide_target(const CompileRequest&) {
  return fail(
      ErrorKind::not_found,
      "this build has no Halide; install its wheel (pip install halide) and configure the build again");
}

}  // namespace intarsia
