// The other runtimes that `check` compares with.
#pragma once

#include <string>

#include "measure/check_model.h"

namespace intarsia {

/// "onnxruntime" or "reference"; empty: the first that is there (a framework only when allow_framework).
Result<Oracle> make_oracle(const std::string& name, bool allow_framework);

}  // namespace intarsia
