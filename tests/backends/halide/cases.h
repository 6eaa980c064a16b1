// Small graphs of every kind of kernel, for tests of where kernels run.
#pragma once

#include <ostream>

namespace intarsia::test {

struct Case {
  const char* name;
  const char* text;  // of the graph, without its first line
};

/// What the list of tests shows as the parameter.
inline void PrintTo(const Case& one, std::ostream* to) { *to << one.name; }

#include "tests/backends/halide/cases.inc"

}  // namespace intarsia::test
