// Sizes of a program's parts, by what its bytes are for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace intarsia {

struct ProgramSize {
  uint64_t program = 0;                                   // bytes of the file: the sum of everything below
  uint64_t weights = 0;                                   // bytes of weights in the model
  std::vector<std::pair<std::string, uint64_t>> growths;  // additional bytes of weights, by reason
  std::vector<std::pair<std::string, uint64_t>> alternatives;  // weights that no earlier plan has, by targets
  std::vector<std::pair<std::string, uint64_t>> specializations = {};  // likewise
  uint64_t variants = 0;     // what only variants for other CPUs have
  uint64_t code = 0;         // code of all plans
  uint64_t description = 0;  // everything else
};

/// Measures a program by its description, the bytes of its code and of its file, and those that only its
/// variants for other CPUs use. Equal weights are stored once and count for the first plan that has them.
ProgramSize measure_size(const fbs::ProgramT& program, uint64_t code_bytes, uint64_t file_bytes,
                         uint64_t variant_bytes = 0);

/// Prints the parts that are not small: "238.0 MB: 98.0 MB of weights, 90.0 MB more since ...".
std::string print_size(const ProgramSize& size);

}  // namespace intarsia
