// What the bytes of a program are for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "program/read_program.h"

namespace intarsia {

struct ProgramSize {
  uint64_t program = 0;                                        // bytes of the file: the sum of all below
  uint64_t weights = 0;                                        // as large as in the model
  std::vector<std::pair<std::string, uint64_t>> growths;       // by reason: what they take more
  std::vector<std::pair<std::string, uint64_t>> alternatives;  // by targets: weights that no other plan has
  uint64_t code = 0;                                           // of all plans
  uint64_t description = 0;                                    // all else
};

/// Equal weights are stored once: they count for the first plan that has them.
ProgramSize measure_size(const MappedProgram& program);

/// "238.0 MB: 98.0 MB of weights, 90.0 MB more since ...": the parts that are not small.
std::string print_size(const ProgramSize& size);

}  // namespace intarsia
