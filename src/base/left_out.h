// Errors of parts of the run half that a build leaves out (cmake/parts.cmake).
#pragma once

#include <string_view>

#include "base/result.h"

namespace intarsia {

/// Makes the error of a part that this build lacks: `return left_out("OpenCL", "INTARSIA_WITH_OPENCL");`
inline tl::unexpected<Error> left_out(std::string_view part, std::string_view option) {
  return fail(ErrorKind::unsupported,
              "this libintarsia.so was built without {}: install one that was built with {}=ON", part,
              option);
}

}  // namespace intarsia
