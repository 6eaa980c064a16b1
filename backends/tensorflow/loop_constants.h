// Constants that a While carries from iteration to iteration.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor_view.h"
#include "tensorflow/messages.h"

namespace intarsia::tf {

/// While that carries fewer values, and its functions.
struct LighterLoop {
  tensorflow::NodeDef loop;     // inputs in `handles` still name the values
  std::vector<size_t> dropped;  // inputs (of the original loop) that moved into the functions
  std::vector<size_t> handles;  // inputs (likewise) that became handles of variables
  std::vector<tensorflow::FunctionDef> functions;  // condition and body
};

/// Lightens a loop. TensorFlow sends every value of a loop through three operators in each iteration, even
/// values that never change, but not handles of variables. So of the inputs that are constants (`constants`:
/// not null) and that the body returns unchanged, single elements move into the functions, and larger ones
/// become variables, which they were before the model was frozen. The larger ones do not move into the
/// functions as well, because TensorFlow then fuses a bias into tiny products, which takes longer (measured:
/// a recurrent layer of 48 units and 17 iterations takes 0.180 ms; 0.164 unchanged, 0.154 with variables).
/// Returns nullopt if there is no such input, or if `library`, a FunctionDefLibrary, lacks the functions.
/// Names of the new functions end in `suffix`.
///   While(x, w), body(x, w) { return x * w, w }
///     ->   While(x, h), body(x, h) { return x * ReadVariableOp(h), h }
/// Throws protozero::exception on malformed bytes.
Result<std::optional<LighterLoop>> lighten_loop(const tensorflow::NodeDef& loop,
                                                const std::vector<const Tensor*>& constants,
                                                std::string_view library, const std::string& suffix);

/// Checks whether the operator is such a loop.
bool is_loop(const std::string& op);

}  // namespace intarsia::tf
