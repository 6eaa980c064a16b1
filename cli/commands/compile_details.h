// Details of a compile, for `compile -v`.
#pragma once

#include <string>

#include "cli/text/print.h"

/// Formats lines about a function of the report: new and remembered measurements, and the cost of generating
/// code.
///   code      for 35 kernels: 12.3 s of CPU time, at most 1.2 s for conv1
std::string print_details(const Json& function);
