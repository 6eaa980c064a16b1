// Where a wrong output comes from.
#pragma once

#include "measure/check_model.h"

namespace intarsia {

struct BadNode {
  std::string name;  // of the first node, in the model's order, whose value is wrong; of a node without name
                     // its output's
  std::string why;   // how its value differs
  /// The values right before it are right, too. False: the nodes behind `after` are right while their values
  /// are outputs of the program, wrong only when they are fused.
  bool exact = true;
  std::string after;
};

/// For a model (request.path) whose check failed. Compiles it a few times with values within it as outputs
/// and compares them with the oracle's (Oracle::run_graph). Nothing: every value that can be compared is
/// right.
Result<std::optional<BadNode>> find_first_bad_node(const CheckRequest& request, const CheckTools& tools);

/// For a program whose check failed: the same check of its model, with the program's sizes and function. How
/// the model was compiled beyond these (pins, devices, kernels) a program does not say.
CheckRequest request_of_model(const CheckRequest& request, const CheckResult& result);

}  // namespace intarsia
