// Types and tensors of the text form.
#pragma once

#include <functional>

#include "graph/graph.h"
#include "graph/text_scanner.h"

namespace intarsia {

/// Finds the tensor that the text names by its digest (tensor_digest.h).
using ConstantResolver = std::function<Result<Tensor>(uint64_t digest)>;

/// "f32[batch,3,?]", "f32[*]", "opaque<0a04>".
Result<ValueType> parse_type(TextScanner& scanner);

/// What print_elements prints, or "xxh3:0123456789abcdef", of a type that must have a fixed shape. Memory is
/// allocated only for as many elements as the text has.
Result<Tensor> parse_tensor(TextScanner& scanner, const ValueType& type, const ConstantResolver& resolve);

}  // namespace intarsia
