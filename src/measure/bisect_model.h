// Where a wrong output comes from.
#pragma once

#include "measure/check_model.h"

namespace intarsia {

struct BadNode {
  std::string name;  // of the first node, in the model's order, whose value is wrong; of a node without a
                     // name its output's
  std::string why;   // how its value differs
  /// The values right before it are correct, too. False: the nodes after `after` are correct while their
  /// values are outputs of the program, and wrong only when fused.
  bool exact = true;
  std::string after;
};

/// For a model (request.path) whose check failed. Compiles it a few times with values within it as outputs
/// and compares them with the oracle's (Oracle::run_graph). Nothing: every value that can be compared is
/// right.
Result<std::optional<BadNode>> find_first_bad_node(const CheckRequest& request, const CheckTools& tools);

/// For a program whose check failed: the same check of its model, with the program's sizes and function. A
/// program does not record how else the model was compiled (pins, devices, kernels).
CheckRequest request_of_model(const CheckRequest& request, const CheckResult& result);

}  // namespace intarsia
