// Domain of operators of ours.
#pragma once

namespace intarsia {

/// Domain of operators that translations make where ONNX's operator has another form than the one needed.
inline constexpr const char* own_domain = "intarsia";

}  // namespace intarsia
