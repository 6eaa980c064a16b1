// A region as an ONNX model, from the backend that compiled it to the same one when it runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/executable.h"

namespace intarsia {

/// What a session is made from. The views are of the program and outlive the executable.
struct RegionModel {
  std::string bytes;                        // a ModelProto
  std::vector<std::string> constant_names;  // initializers whose data is not in `bytes`
  std::span<const ConstTensorView> constants;
  int threads = 1;
  const CoreSet* cores = nullptr;  // null: none in particular
  std::string executor;            // name: "cpu:0-1"
};

/// The blob of a region.
std::string encode_region_model(std::string_view model, const std::vector<std::string>& constant_names);

/// What was encoded, and how it is to run. Error: damaged bytes.
Result<RegionModel> decode_region_model(const LoadContext& context);

}  // namespace intarsia
