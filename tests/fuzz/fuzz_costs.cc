// Arbitrary bytes as a file of times: what is read prints and reads as the same file.
//
// Covers: src/target/ cost_file.cc
#include <cstdint>
#include <cstdlib>

#include "target/cost_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intarsia;
  const auto file = read_cost_file({reinterpret_cast<const char*>(data), size});
  if (!file) return 0;
  const std::string text = print_cost_file(*file);
  const auto again = read_cost_file(text);
  if (!again || print_cost_file(*again) != text) std::abort();
  return 0;
}
