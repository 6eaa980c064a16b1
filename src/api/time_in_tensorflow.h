// Timing in TensorFlow of what is rewritten.
#pragma once

#include "rewrite/rewrite_model.h"

namespace intarsia::api {

/// Makes a timer that runs models with the request's threads and libraries of operators. It refers to the
/// request, which outlives it.
TensorFlowTimer make_tensorflow_timer(const CompileRequest& request);

}  // namespace intarsia::api
