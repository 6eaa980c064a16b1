// A run of a pipeline as a page: stages over time.
#pragma once

#include <string>

#include "cli/results/pipeline_trace.h"
#include "cli/text/print.h"

/// Makes a self-contained HTML page: the contents of `report` (run --pipeline in docs/json.md), and what each
/// stage did with some frames from the middle of the run.
std::string make_pipeline_page(const Json& report, const PipelineTrace& trace);
