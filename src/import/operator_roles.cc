#include "import/operator_roles.h"

#include <algorithm>
#include <initializer_list>

namespace intarsia {
bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

bool is_alias(std::string_view op) {
  return is_one_of(op, {"Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot",
                        "CheckNumerics", "PlaceholderWithDefault"});
}

bool is_variable(std::string_view op) { return op == "VarHandleOp" || is_reference_variable(op); }

bool is_reference_variable(std::string_view op) { return is_one_of(op, {"VariableV2", "Variable"}); }

bool reads_variable(std::string_view op) {
  return is_one_of(op, {"ReadVariableOp", "ResourceGather", "VariableShape"});
}

bool calls_function(std::string_view op) {
  return is_one_of(op, {"PartitionedCall", "StatefulPartitionedCall"});
}

}  // namespace intarsia
