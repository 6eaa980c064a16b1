// Rewriting of one body: what of it becomes functions of a program.
#pragma once

#include "compile/functions.h"
#include "rewrite/find_bodies.h"
#include "rewrite/import_body.h"
#include "rewrite/rewrite_model.h"

namespace intarsia {

/// Body with its calls of a program, and the functions that these run.
struct RewrittenBody {
  SignatureBody original;
  Body body;
  std::vector<ReplacedPart> parts;
  std::vector<CompiledFunction> functions;  // one for each part
  std::vector<NamedValue> samples;          // values of its inputs, at the sizes it is planned with
};

/// Plans the body as compile_model plans a model, compiles what the plan does not leave to TensorFlow, and
/// replaces it. There are no parts where the plan leaves everything.
Result<RewrittenBody> rewrite_body(const SignatureBody& original, const BodyContext& context,
                                   const CompileRequest& request, const CompileServices& services,
                                   Progress progress);

}  // namespace intarsia
