// Import of one function: the state of its passes, and what they do.
#pragma once

#include "compile/functions.h"

namespace intarsia {

/// State of the passes that import a function.
struct FunctionImport {
  const CompileRequest& request;
  const CompileServices& services;
  std::string signature;  // empty for a model without signatures
  std::shared_ptr<RefusedRegions> refused = std::make_shared<RefusedRegions>();
  PlanningProblem problem = {};
  std::vector<SymbolBinding> bindings = {};
  std::vector<std::string> size_notes = {};
  std::vector<std::string> tuned_symbols = {};
  uint64_t weights_bytes = 0;

  const Graph& graph() const { return problem.graph; }
  std::string name() const { return signature.empty() ? "main" : signature; }
};

/// Returns the signatures that become functions; a single empty name for a model without signatures. Errors:
/// signatures of a model that has none, a model without any.
Result<std::vector<std::string>> choose_signatures(const CompileRequest& request);

/// Chooses the targets, whose backends may be asked for types.
Result<FunctionImport> start_import(const CompileRequest& request, const CompileServices& services,
                                    const std::string& signature);
ImportedFunction finish_import(FunctionImport import);

/// Reads the graph from the model file, with the outputs of the request.
Status read_graph(FunctionImport& import);
/// Gives every size of the inputs a number.
Status bind_sizes(FunctionImport& import);
/// Gives every value a type, and makes constants of values that depend on no input.
Status type_values(FunctionImport& import);
/// Replaces sequences whose elements are known.
Status resolve_all_sequences(FunctionImport& import);
/// Lets reshapes read constants where they can.
Status simplify_model(FunctionImport& import);
/// Removes nodes that no output needs.
Status remove_unneeded(FunctionImport& import);

/// Checks that every shape of the request is meant for an input of some function, and so are sizes to be
/// fastest at.
Status check_shapes(const std::vector<ImportedFunction>& functions, const CompileRequest& request);

}  // namespace intarsia
