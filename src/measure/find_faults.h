// Which of several programs that should compute the same do not.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

/// Runs a program: its outputs that are tensors, copied.
using ComputeValues = std::function<Result<std::vector<NamedValue>>(const std::vector<NamedValue>& inputs)>;

/// What programs are held to.
struct Agreement {
  double rtol = 1e-3;             // of the largest value of an output
  std::optional<size_t> trusted;  // right where the programs are divided evenly; nothing: the first is
};

/// By program: how its values differ from those that most programs compute, on `inputs`, on other random
/// values and on edges (other_inputs.h); empty: they agree. Where the program that is right changes its own
/// answer when its inputs change by a part in a million, others may differ by some times as much: so a model
/// that is random, or that rounding decides, disqualifies nobody. What does not run on some values is not
/// compared on them.
///   a: 1 2 3;  b: 1 2 3;  c: 1 2 7   ->   "", "", "output 'y': element 2 is 7, want 3; ..."
std::vector<std::string> find_faults(std::span<const ComputeValues> programs,
                                     const std::vector<NamedValue>& inputs, const Agreement& agreement);

}  // namespace intarsia
