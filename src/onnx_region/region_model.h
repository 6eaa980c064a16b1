// A region as an ONNX model, passed from the backend that compiles it to the same one at run time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/executable.h"

namespace intarsia {

/// Parts that a session is made from. The views point into the program and outlive the executable.
struct RegionModel {
  std::string bytes;                        // a ModelProto
  std::vector<std::string> constant_names;  // initializers whose data is not in `bytes`
  std::span<const ConstTensorView> constants;
  int threads = 1;
  const CoreSet* cores = nullptr;  // null for none in particular
  std::string executor;            // executor name: "cpu:0-1"
  bool rounds_to_bf16 = false;     // f32 may be computed in bf16
};

/// Encodes the blob of a region.
std::string encode_region_model(std::string_view model, const std::vector<std::string>& constant_names,
                                bool rounds_to_bf16 = false);

/// Decodes the blob, with the settings to run it. Error: damaged bytes.
Result<RegionModel> decode_region_model(const LoadContext& context);

}  // namespace intarsia
