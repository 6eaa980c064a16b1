// Pipelines as JSON files (docs/pipelines.md).
#pragma once

#include <string>

#include "api/pipeline_builder.h"

namespace intarsia::api {

/// Adds the file's stages and connections. Errors name the file, and the entry.
Status read_pipeline_file(intarsia_pipeline_builder& builder, const std::string& path);

}  // namespace intarsia::api
