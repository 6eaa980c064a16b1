// Rewriting of a frozen GraphDef.
#pragma once

#include "rewrite/rewrite_model.h"

namespace intarsia {

/// Rewrites as rewrite_model does. Throws protozero::exception on malformed bytes.
Result<RewriteReport> rewrite_graph_file(const RewriteRequest& request, const CompileServices& services,
                                         const TensorFlowTimer& timer);

}  // namespace intarsia
