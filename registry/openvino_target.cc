#include "backends/openvino/library.h"
#include "backends/openvino/target.h"
#include "registry/open_targets.h"

namespace intarsia {

TargetResult open_openvino_target(const CompileRequest&) { return make_openvino_target(); }

Status find_openvino() {
  TRY(openvino::Library::get());
  return {};
}

}  // namespace intarsia
