// Writing of a SavedModel whose bodies call functions of a program.
#pragma once

#include <functional>

#include "rewrite/body.h"
#include "rewrite/function_edit.h"
#include "rewrite/written_program.h"

namespace intarsia {

/// Writes a message anew.
using WriteMessage = std::function<Result<std::string>(std::string_view message)>;

/// Copies a GraphDef, but for its nodes, with its library of functions as `write_library` makes it.
Result<std::string> copy_graph(std::string_view bytes, const WriteMessage& write_library);

/// Copies a saved_model.pb, with its first graph for serving as `write_served` makes it.
Result<std::string> copy_saved_model(std::string_view bytes, const WriteMessage& write_served);

/// Returns the bytes of a saved_model.pb with these bodies, which run the programs. All else stays as it is
/// in `bytes`: other functions, graphs with other tags, objects.
///   serving_default -> call f(x, w) -> f    ->    call f(x, w, program) -> f with nodes that run the program
Result<std::string> write_saved_model(std::string_view bytes, const tensorflow::GraphDef& graph,
                                      const std::vector<Body>& bodies,
                                      const std::vector<WrittenProgram>& programs);

/// Returns the bytes of a frozen GraphDef with this body; nodes hold the programs.
Result<std::string> write_graph_file(std::string_view bytes, const Body& body,
                                     const std::vector<WrittenProgram>& programs);

}  // namespace intarsia
