// Small graphs for every kind of kernel, for tests of where kernels run.
#pragma once

#include <ostream>

namespace intarsia::test {

struct Case {
  const char* name;
  const char* text;  // text of the graph, without its first line
};

/// Prints a case as the parameter in the list of tests.
inline void PrintTo(const Case& one, std::ostream* to) { *to << one.name; }

#include "tests/backends/halide/cases.inc"
#include "tests/backends/halide/processor_cases.inc"

}  // namespace intarsia::test
