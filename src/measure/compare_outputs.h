// Comparison of a program's outputs with an oracle's, and how far the oracle's own depend on last digits.
#pragma once

#include <span>
#include <vector>

#include "measure/check_model.h"

namespace intarsia {

/// Compares outputs by name. One that is on one side only is not ok.
std::vector<CheckedOutput> compare_outputs(const std::vector<NamedValue>& actual,
                                           const std::vector<NamedValue>& reference,
                                           const Tolerance& tolerance);

/// Measures, for outputs that are not ok, how much the oracle's own answer depends on the last digits of the
/// inputs, or of the weights.
void measure_sensitivity(const CheckTools& tools, const CheckResult& result,
                         const std::vector<NamedValue>& inputs, const std::vector<NamedValue>& reference,
                         const Tolerance& tolerance, std::vector<CheckedOutput>& outputs);

}  // namespace intarsia
