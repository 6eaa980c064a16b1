// Parsers of types and tensors in the text form.
#pragma once

#include <functional>

#include "graph/graph.h"
#include "graph/text_scanner.h"

namespace intarsia {

/// Finds the tensor that the text names by its digest (tensor_digest.h).
using ConstantResolver = std::function<Result<Tensor>(uint64_t digest)>;

/// Parses "f32[batch,3,?]", "f32[*]", "opaque<0a04>".
Result<ValueType> parse_type(TextScanner& scanner);

/// Parses the output of print_elements, or "xxh3:0123456789abcdef", for a type that must have a fixed shape.
/// Allocates memory only for as many elements as the text has.
Result<Tensor> parse_tensor(TextScanner& scanner, const ValueType& type, const ConstantResolver& resolve);

}  // namespace intarsia
