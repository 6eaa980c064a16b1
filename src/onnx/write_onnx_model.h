// Writing a Graph as a serialized ONNX model, the form in which ONNX Runtime and OpenVINO take a region.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

struct OnnxModel {
  std::string bytes;                        // a ModelProto
  std::vector<std::string> constant_names;  // initializers whose data is not in `bytes`
  std::vector<Tensor> constants;            // values of the constant_names
};

/// Treatment of large initializers in the model.
enum class LargeConstants {
  declared,  // type and shape only, as external data that is elsewhere
  left_out,  // omitted; the code that completes the model adds the whole initializer
  within     // complete; the model needs nothing else
};

/// Size below which constants are in the model itself: shapes and axes, which a framework reads when it
/// builds.
inline constexpr size_t inline_constant_bytes = 64 * 1024;

/// Writes the model. Names, versions and attributes stay those of the source. Types are written only for
/// inputs and outputs; the reader infers those in between. Fails if two nodes want different versions of one
/// domain, an input's type is unknown, or the model would exceed 2 GiB, the limit of a protobuf message.
Result<OnnxModel> write_onnx_model(const Graph& graph, LargeConstants large = LargeConstants::declared);

}  // namespace intarsia
