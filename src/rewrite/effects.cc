#include "rewrite/effects.h"

#include <algorithm>
#include <array>

#include "import/operator_roles.h"
#include "rewrite/find_bodies.h"

namespace intarsia {

using namespace tensorflow;

namespace {

bool only_reads(const std::string& op) {
  constexpr std::array ops{"VarHandleOp",       "HashTableV2",        "MutableHashTableV2",
                           "ResourceGatherNd",  "VarIsInitializedOp", "LookupTableFindV2",
                           "LookupTableSizeV2", "Placeholder",        "Intarsia"};
  return reads_variable(op) || std::ranges::find(ops, op) != ops.end();
}

/// Checks for operators that do what the functions they call do, and no more.
bool does_as_functions_do(const std::string& op) {
  constexpr std::array ops{"If", "While", "Case", "PartitionedCall", "StatefulPartitionedCall"};
  return std::ranges::find(ops, op) != ops.end();
}

}  // namespace

Result<bool> EffectFinder::has_effects(const NodeDef& node) {
  if (only_reads(node.op)) return false;
  const OpDef* op = source_.find_op ? TRY(source_.find_op(node.op)) : nullptr;
  if (op == nullptr || (op->is_stateful && !does_as_functions_do(node.op))) return true;
  for (const std::string& function : functions_of(node))
    if (TRY(function_has_effects(function))) return true;
  return false;
}

Result<bool> EffectFinder::function_has_effects(const std::string& name) {
  const auto function = functions_.find(name);
  if (function == functions_.end()) return true;
  const auto [at, is_new] = known_.try_emplace(name, false);  // of functions that call themselves
  if (!is_new) return at->second;
  for (const NodeDef& node : function->second.nodes)
    if (TRY(has_effects(node))) return known_[name] = true;
  return false;
}

}  // namespace intarsia
