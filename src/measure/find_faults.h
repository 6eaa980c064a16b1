// Search for programs that do not compute the same as others that should.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

/// Function that runs a program and returns its outputs that are tensors, copied.
using ComputeValues = std::function<Result<std::vector<NamedValue>>(const std::vector<NamedValue>& inputs)>;

/// Criteria for programs to agree.
struct Agreement {
  double rtol = 1e-3;             // tolerance relative to the largest value of an output
  std::optional<size_t> trusted;  // program that is right in a tie; nullopt: the first
};

/// Returns, by program, how its values differ from those that most programs compute, on `inputs`, on other
/// random values and on edges (other_inputs.h); empty if they agree. Where the program that is right changes
/// its own answer when its inputs change by a part in a million, others may differ by a multiple of that: so
/// a model that is random, or that rounding decides, disqualifies no program. Programs that do not run on
/// some values are not compared on them.
///   a: 1 2 3;  b: 1 2 3;  c: 1 2 7   ->   "", "", "output 'y': element 2 is 7, want 3; ..."
std::vector<std::string> find_faults(std::span<const ComputeValues> programs,
                                     const std::vector<NamedValue>& inputs, const Agreement& agreement);

}  // namespace intarsia
