// Parsers of a size in the text form: "3", "batch", "2*seq+1", "floor_div(h+1,2)" or "(h+1)//2", "?".
#pragma once

#include "base/dim.h"
#include "graph/text_scanner.h"

namespace intarsia {

Result<Dim> parse_dim(TextScanner& scanner);
/// Parses the same, which may be negative.
Result<Dim> parse_expression(TextScanner& scanner);

}  // namespace intarsia
