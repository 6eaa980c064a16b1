// Replacing of nodes by functions of programs that the user names.
#pragma once

#include <memory>

#include "program/read_program.h"
#include "rewrite/find_bodies.h"
#include "rewrite/rewrite_model.h"
#include "rewrite/written_program.h"

namespace intarsia {

/// Replaces what the user wants to be replaced, in all bodies.
class HandReplacer {
 public:
  /// Reads the programs. Refers to `source`, which outlives it.
  static Result<HandReplacer> make(const RewriteRequest& request, const TensorFlowSource& source);

  /// Returns the names of functions whose calls may be replaced as wholes.
  std::set<std::string> names() const;
  /// Replaces in a body; what becomes of its arguments and results does not change. Errors: inputs and
  /// outputs of the nodes are not those of the function; nodes are replaced twice, or cannot be one node.
  Result<std::vector<ReplacedPart>> replace(SignatureBody& body, EffectFinder& effects);
  /// Returns the programs that parts run, each with its path as content.
  std::vector<WrittenProgram> programs_of(const std::vector<ReplacedPart>& parts) const;
  /// Checks that each replacement found its nodes in some body.
  Status check_all_found() const;

 private:
  struct Wanted {
    Replacement replacement;
    size_t program;  // number in `programs_`
    const fbs::FunctionT* function;
    bool is_found = false;
  };

  HandReplacer(const RewriteRequest& request, const TensorFlowSource& source)
      : threads_(request.threads), source_(source) {}
  Status add(const Replacement& replacement);
  Result<ProgramCall> make_call(const Body& body, const std::set<std::string>& nodes,
                                const Wanted& wanted) const;

  int threads_;
  const TensorFlowSource& source_;
  std::vector<std::shared_ptr<const MappedProgram>> programs_;
  std::vector<Wanted> wanted_;
};

}  // namespace intarsia
