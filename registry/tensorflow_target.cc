#include "backends/tensorflow/target.h"
#include "registry/open_targets.h"

namespace intarsia {

TargetResult open_tensorflow_target(const CompileRequest& request) {
  return make_tensorflow_target(request.op_libraries);
}

}  // namespace intarsia
