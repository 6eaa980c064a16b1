// A region's ONNX model with its weights.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia::openvino {

/// The ModelProto with the constants as initializers of its graph. OpenVINO takes a model from memory only
/// as a whole. Error: it would be larger than a message of protobuf can be, 2 GiB.
Result<std::string> complete_model(std::string_view model, const std::vector<std::string>& names,
                                   std::span<const ConstTensorView> constants);

}  // namespace intarsia::openvino
