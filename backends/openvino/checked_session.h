// Check of which outputs of a compiled model OpenVINO writes to the buffers that it is given.
//
// Where its optimizer leaves nothing between an input and an output (an Identity, a Max of one input), the
// library does not write the output's buffer, and other readers of that input may read the buffer instead. It
// neither reports this nor recovers: buffers that it once mixed up stay so. Hence a model is first run once,
// on zeros; if it leaves a buffer unwritten it is compiled anew, and that output stays in the library's own
// memory, where it is always right, and is copied.
#pragma once

#include "backends/openvino/session.h"

namespace intarsia::openvino {

struct CheckedSession {
  std::shared_ptr<const ModelSession> session;
  std::vector<bool> is_copied;  // indexed by output: whether it must not be given a buffer
};

/// Opens a model and tries it. Models with open sizes cannot be tried: all their outputs are copied.
Result<CheckedSession> open_checked(std::string_view model, const SessionSettings& settings);

}  // namespace intarsia::openvino
