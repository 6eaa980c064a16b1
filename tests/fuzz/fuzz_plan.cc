// Arbitrary bytes as a plan file: what parses prints and parses to the same plans.
//
// Covers: src/plan/choose/ plan_file.cc plan_shapes.cc
#include <cstdint>
#include <cstdlib>

#include "plan/choose/plan_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intarsia;
  const auto plans = parse_plans({reinterpret_cast<const char*>(data), size});
  if (!plans) return 0;
  const std::string text = print_plans(*plans);
  const auto again = parse_plans(text);
  if (!again || print_plans(*again) != text) std::abort();
  return 0;
}
