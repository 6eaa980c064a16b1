// Last steps of a rewriting: the program of all bodies, and whether the result is faster.
#pragma once

#include <filesystem>

#include "rewrite/rewrite_body.h"

namespace intarsia {

/// Writes the program of all functions of the bodies, which they keep.
Status write_program(std::vector<RewrittenBody>& bodies, const RewriteTools& tools,
                     const std::filesystem::path& path);

/// Times the body's signatures in the model and in the one that is rewritten, and adds their times to the
/// report. Returns why the body should stay as it is; empty if it should not. Errors: the model does not run
/// with the inputs that the request gives; a body with parts that the user replaced does not run, or has
/// other results.
Result<std::string> judge_body(const RewrittenBody& body, const RewriteRequest& request,
                               const TensorFlowTimer& timer, const std::string& rewritten,
                               RewriteReport& report);

/// Adds to the report that all of a body stays as it is.
void note_kept(RewriteReport& report, const SignatureBody& body, const std::string& why);

/// Rewrites a body (rewrite_body), of which `by_hand` is replaced already, and notes what stays. Returns
/// nothing where all stays. Errors: those that are not a property of the body.
Result<std::optional<RewrittenBody>> try_body(const SignatureBody& body, std::vector<ReplacedPart> by_hand,
                                              const BodyContext& context, const RewriteTools& tools,
                                              const Progress& progress, RewriteReport& report);

/// Checks that no node of the model runs a program yet.
Status check_is_original(const tensorflow::GraphDef& graph);

}  // namespace intarsia
