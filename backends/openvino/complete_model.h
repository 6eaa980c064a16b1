// A region's ONNX model with its weights.
#pragma once

#include <string>

#include "onnx_region/region_model.h"

namespace intarsia::openvino {

/// Returns the ModelProto with the constants as initializers of its graph. OpenVINO takes a model from memory
/// only as a whole. Error: it would be larger than a message of protobuf can be, 2 GiB.
Result<std::string> complete_model(const RegionModel& model);

}  // namespace intarsia::openvino
