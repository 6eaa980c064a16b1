// Functions that loops and branches run.
#pragma once

#include "rewrite/body.h"
#include "rewrite/import_body.h"

namespace intarsia {

/// Checks for an operator (If, Case, While) that runs functions with its own inputs, so that these can be
/// given one more.
bool runs_functions(const std::string& op);
/// Checks for a While, whose body returns what it gets.
bool is_loop(const std::string& op);
/// Returns the number of the first input that the functions get: a branch chooses by another.
size_t first_passed(const std::string& op);
/// Returns the functions that a node runs with its own inputs, by a call, a loop or a branch; none if the
/// graph lacks one.
std::vector<std::string> functions_run_by(const tensorflow::NodeDef& node,
                                          const std::map<std::string, tensorflow::FunctionDef>& functions);
/// Returns the attribute with the types of the inputs that the functions get.
const char* types_attribute(const std::string& op);

using FunctionArgument = std::pair<std::string, size_t>;  // function, and the argument's number

/// Adds what is given to one of the arguments: arguments of functions that hand theirs on, by what they are
/// handed to.
void add_givers(std::set<FunctionArgument>& arguments,
                const std::map<FunctionArgument, std::vector<FunctionArgument>>& givers);

/// Returns the bodies of the functions that loops and branches of a body run, with what is known about their
/// arguments; not of a function that something else may run, too.
Result<std::vector<Body>> find_inner_bodies(const Body& body, const BodyContext& context);

}  // namespace intarsia
