// Values of ONNX Runtime that are not tensors (sequences, optionals, maps), taken apart into tensors and put
// together again. They pass between regions of this backend as `owner` of Input and Output; only this code
// knows their contents.
#pragma once

#include <memory>
#include <string_view>

#include "device/executable.h"

namespace intarsia {

/// Takes a value apart into tensors that share its memory and keep it alive (strings are copied). A sequence
/// of maps gives keys, values, keys, values. `encoded_type` (a serialized ONNX TypeProto) may be empty: then
/// the value itself shows its kind, but an optional with a value looks like its content.
Result<OpaqueParts> unpack_opaque(const std::shared_ptr<void>& value, std::string_view encoded_type);

/// Makes a sequence of these tensors (empty if there are none), or an optional with this content or absent.
/// The elements are copied. Fails for maps, and if an element's dtype is not that of the type.
Result<std::shared_ptr<void>> pack_opaque(const OpaqueParts& parts, std::string_view encoded_type);

}  // namespace intarsia
