// A Graph as a serialized ONNX model, the form in which ONNX Runtime and OpenVINO take a region.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

struct OnnxModel {
  std::string bytes;                        // a ModelProto
  std::vector<std::string> constant_names;  // initializers whose data is not in `bytes`
  std::vector<Tensor> constants;            // their values
};

/// What the model says of a large initializer.
enum class LargeConstants {
  declared,  // type and shape, as external data, which is not in it
  left_out,  // nothing: whoever completes the model adds the whole initializer
  within     // all: the model needs nothing else
};

/// Constants below this size are in the model itself: shapes and axes, which a framework reads when it
/// builds.
inline constexpr size_t inline_constant_bytes = 64 * 1024;

/// Names, versions and attributes stay those of the source. Types are written only for inputs and outputs;
/// the reader infers those in between. Fails when two nodes want different versions of one domain, an input's
/// type is unknown, or the model would be larger than a message of protobuf can be, 2 GiB.
Result<OnnxModel> write_onnx_model(const Graph& graph, LargeConstants large = LargeConstants::declared);

}  // namespace intarsia
