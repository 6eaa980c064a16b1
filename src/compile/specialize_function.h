// Plans of a function for ranges of its open sizes.
#pragma once

#include "compile/plan_function.h"

namespace intarsia {

/// Compares plans at all sizes that the function is to be fastest at (planning_sizes.h), and adds those that
/// save 5% or more of the time of the plan that ships, for the ranges in which they do (size_ranges.h). A
/// plan that is given, is divided into stages, or must fit limited memory stays the only one.
Status specialize_function(FunctionPlanning& planning);
/// Checks the regions and steps of the added plans.
Status verify_specializations(const FunctionPlanning& planning);
/// Returns a line per added plan: "batch 12 to 32: onnxruntime@cpu, 12.3 ms with batch = 32, halide@cpu 14.1
/// ms".
std::string describe_specializations(const FunctionPlanning& planning);

}  // namespace intarsia
