// Services of a compile that a request asks for, with the measurements of this process.
#pragma once

#include "api/compile_services.h"
#include "api/read_request.h"

namespace intarsia::api {

/// Makes the services (make_compile_services), wired to the devices of this machine and to the caller.
Result<CompileServices> make_services(const ReadRequest& read);

}  // namespace intarsia::api
