// Which outputs of a compiled model OpenVINO writes to the buffers that it is given.
//
// Where its optimizer leaves nothing between an input and an output (an Identity, a Max of one input), the
// library does not write the output's buffer, and what else reads that input may read the buffer instead. It
// does not say so, nor recover: buffers that it once mixed up stay so. Hence a model runs once, on zeros,
// before it is used; if it left a buffer unwritten it is compiled anew, and that output stays in the
// library's own memory, out of which it is always right, and is copied.
#pragma once

#include "backends/openvino/ov_session.h"

namespace intarsia::openvino {

struct CheckedSession {
  std::shared_ptr<const ModelSession> session;
  std::vector<bool> is_copied;  // by output: it must not be given a buffer
};

/// Of a model with open sizes, which cannot be tried, all outputs are copied.
Result<CheckedSession> open_checked(std::string_view model, const SessionSettings& settings);

}  // namespace intarsia::openvino
