// Conversion of intarsia_bind_options to the runtime's form.
#pragma once

#include "include/intarsia/intarsia.h"
#include "runtime/bind_program.h"

namespace intarsia::api {

/// Reads options, which may be null.
Result<BindOptions> read_bind_options(const intarsia_bind_options* options);

}  // namespace intarsia::api
