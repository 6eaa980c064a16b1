// Passes on graphs in the text form, each by its name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tests/support/case_file.h"

namespace intarsia {

/// Runs the pass that the case's folder is named after on the graph of its section `input`, and returns the
/// text of the result. The graph is verified afterwards. Errors: the pass's own, an unknown pass, a section
/// that cannot be read.
Result<std::string> run_pass(const CaseFile& file);

/// Returns the names of the passes, in the order of a compile.
std::vector<std::string> passes_to_run();

}  // namespace intarsia
