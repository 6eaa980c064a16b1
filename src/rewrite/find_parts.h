// Parts of an imported body that a program computes, the rest staying in TensorFlow.
#pragma once

#include "compile/functions.h"
#include "rewrite/import_body.h"
#include "rewrite/replace_parts.h"

namespace intarsia {

/// Part of a body: nodes that other backends than TensorFlow run in the plan.
struct BodyPart {
  Graph original;  // with all types
  Graph graph;     // with inputs whose sizes are numbers or single symbols; no other value has a type
  std::vector<std::string> inputs, outputs;  // values of the body's graph
  std::map<std::string, int64_t> sizes;      // those that the body is planned with, by symbol of `graph`
};

/// Returns the names of values.
std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& values);

/// Gives the copies that the import added the attribute that TensorFlow wants.
void complete_copies(Graph& graph);

/// Checks whether the plan leaves nodes to TensorFlow.
bool uses_tensorflow(const PlannedFunction& planned);

/// Joins the nodes that the plan does not leave to TensorFlow in as few parts as convexity allows. A part
/// without any work (is_work.h) and of few nodes is not worth a call. `levels`: those of nodes
/// (ImportedBody::levels), of which a part has one.
std::vector<BodyPart> find_parts(const PlannedFunction& planned,
                                 const std::map<std::string, uint32_t>& levels);

/// Returns the call of a part, or of a whole body, as a function of a program yet to be named. Error: a value
/// is not a tensor of the body.
Result<ProgramCall> make_call(const std::string& function, const Graph& graph,
                              const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                              const std::map<std::string, std::string>& sources);

}  // namespace intarsia
