// Conversion of AttributeProto to Attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "import/onnx_tensor.h"

namespace intarsia {

/// A decoded AttributeProto. An attribute that is a subgraph, a type or a list of those stays encoded.
struct NamedAttribute {
  std::string name;
  AttributeValue value;
  std::string refers_to;  // attribute of the call that it stands for, inside a function
};

/// Decodes a serialized AttributeProto. Throws protozero::exception on malformed bytes.
Result<NamedAttribute> read_onnx_attribute(std::string_view bytes, TensorSource& source);

}  // namespace intarsia
