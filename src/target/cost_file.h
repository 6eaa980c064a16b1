// Files with the times of kernels, which go from one machine to another (docs/costs.md has their fields).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "target/cost_table.h"

namespace intarsia {

/// Times of kernels on one machine.
struct CostFile {
  std::string machine;                            // by its own description
  std::string architecture;                       // as programs name it: "aarch64"
  std::string cpu;                                // processor that the kernels are for, as with --cpu
  std::string backend;                            // what generated the kernels: "halide"
  std::string version, code;                      // as in their keys
  std::vector<std::pair<CostKey, Cost>> kernels;  // of the device "cpu"; none is `never`
};

/// Prints the file.
std::string print_cost_file(const CostFile& file);

/// Reads a file and checks all that its bytes tell: fields and their types, digests, numbers in their ranges,
/// no kernel twice.
Result<CostFile> read_cost_file(std::string_view text);

}  // namespace intarsia
