// Where a wrong output comes from.
#pragma once

#include "measure/check_model.h"

namespace intarsia {

struct BadNode {
  std::string name;  // of the first node, in the model's order, whose value is wrong; of a node without name its output's
  std::string why;   // how its value differs
  /// The values right before it are right, too. False: the nodes behind `after` are right while their values are outputs
  /// of the program, wrong only when they are fused.
  bool exact = true;
  std::string after;
};

/// For a model (request.path) whose check failed. Compiles it a few times with values within it as outputs and compares
/// them with the reference kernels'. Nothing: every value that can be compared is right.
Result<std::optional<BadNode>> find_first_bad_node(const CheckRequest& request, const CheckTools& tools);

}  // namespace intarsia
