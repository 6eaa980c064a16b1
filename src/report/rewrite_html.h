// The HTML page of a rewriting.
#pragma once

#include <string>

#include "rewrite/rewrite_model.h"

namespace intarsia {

/// Returns a self-contained page that says how much faster the rewritten model is, what was replaced, and
/// what stays and why. `model` and `output` are the paths of the two models.
std::string rewrite_html(const RewriteReport& report, const std::string& model, const std::string& output);

}  // namespace intarsia
