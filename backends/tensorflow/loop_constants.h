// Constants that a While carries from turn to turn.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor_view.h"
#include "tensorflow/messages.h"

namespace intarsia::tf {

/// A While that carries fewer values, and its functions.
struct LighterLoop {
  tensorflow::NodeDef loop;     // its inputs in `handles` still name the values
  std::vector<size_t> dropped;  // inputs (of the loop as it was) that went into the functions
  std::vector<size_t> handles;  // inputs (likewise) that are handles of variables now
  std::vector<tensorflow::FunctionDef> functions;  // the condition, the body
};

/// TensorFlow sends every value of a loop through three operators in each turn, also what never changes, but
/// handles of variables. So of the inputs that are constants (`constants`: not null) and that the body gives
/// back as it got them, single elements go into the functions, and larger ones become variables, which they
/// were before the model was frozen. They do not go into the functions, too, because TensorFlow then fuses a
/// bias into tiny products, which takes longer (measured: a recurrent layer of 48 units and 17 turns takes
/// 0.180 ms; 0.164 as it came, 0.154 with variables). Nothing when no input is such, or when `library`, a
/// FunctionDefLibrary, lacks the functions. Names of the new functions end in `suffix`.
///   While(x, w), body(x, w) { return x * w, w }
///     ->   While(x, h), body(x, h) { return x * ReadVariableOp(h), h }
/// Throws protozero::exception on malformed bytes.
Result<std::optional<LighterLoop>> lighten_loop(const tensorflow::NodeDef& loop,
                                                const std::vector<const Tensor*>& constants,
                                                std::string_view library, const std::string& suffix);

/// True for the operators that are such loops.
bool is_loop(const std::string& op);

}  // namespace intarsia::tf
