// Search for the node that a wrong output comes from.
#pragma once

#include "measure/check_model.h"

namespace intarsia {

struct BadNode {
  /// Name of the first node, in the model's order, whose value is wrong; of its output if it has none.
  std::string name;
  std::string why;  // difference of its value
  /// Whether the values right before it are correct. If not, the nodes after `after` are correct while their
  /// values are outputs of the program, and wrong only when fused.
  bool exact = true;
  std::string after;
};

/// Finds the first bad node of a model (request.path) whose check failed. Compiles it a few times with values
/// within it as outputs and compares them with the oracle's (Oracle::run_graph). Returns nullopt if every
/// value that can be compared is right.
Result<std::optional<BadNode>> find_first_bad_node(const CheckRequest& request, const CheckTools& tools);

/// Returns the same check of the model of a program whose check failed, with the program's sizes, of which
/// the same are open, and function. A program does not record how else the model was compiled (pins, devices,
/// kernels).
CheckRequest request_of_model(const CheckRequest& request, const CheckResult& result);

}  // namespace intarsia
