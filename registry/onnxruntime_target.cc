#include "backends/onnxruntime/library.h"
#include "backends/onnxruntime/target.h"
#include "registry/open_targets.h"

namespace intarsia {

TargetResult open_onnxruntime_target(const CompileRequest&) {
  TRY(ort::Library::get());
  return make_onnxruntime_target();
}

}  // namespace intarsia
