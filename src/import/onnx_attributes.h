// AttributeProto to Attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "import/onnx_tensor.h"

namespace intarsia {

/// One serialized AttributeProto, decoded. An attribute that is a subgraph, a type or a list of those stays
/// encoded.
struct NamedAttribute {
  std::string name;
  AttributeValue value;
  std::string refers_to;  // inside a function: the attribute of the call that it stands for
};

/// Throws protozero::exception on malformed bytes.
Result<NamedAttribute> read_onnx_attribute(std::string_view bytes, TensorSource& source);

}  // namespace intarsia
