// Rewriting of one body: what of it becomes functions of a program.
#pragma once

#include "compile/functions.h"
#include "rewrite/find_bodies.h"
#include "rewrite/import_body.h"
#include "rewrite/rewrite_model.h"

namespace intarsia {

/// Body whose calls, and those in its loops and branches, run functions of a program.
struct RewrittenBody {
  SignatureBody original;
  std::vector<Body> bodies;  // those with calls: it, and functions that its loops and branches run
  std::vector<ReplacedPart> parts;
  std::vector<CompiledFunction> functions;  // of parts that are compiled
  std::vector<KeptPart> kept;               // parts that stay in TensorFlow
  std::vector<NamedValue> samples;          // values of its inputs, at the sizes it is planned with
};

/// How bodies are rewritten. All of it outlives the rewriting.
struct RewriteTools {
  const CompileRequest& request;
  int threads;  // attribute of nodes
  const CompileServices& services;
  const TensorFlowTimer& timer;
  const std::vector<NamedValue>& inputs;  // of signatures; others are filled
};

/// Plans the body as compile_model plans a model, compiles what the plan does not leave to TensorFlow, and
/// replaces it where that is faster in TensorFlow: of a whole body, whoever has the model can tell. There are
/// no parts where nothing is faster.
Result<RewrittenBody> rewrite_body(const SignatureBody& original, const BodyContext& context,
                                   const RewriteTools& tools, const Progress& progress);

}  // namespace intarsia
