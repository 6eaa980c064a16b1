// Where the metadata of a model wants its nodes to run.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// By node of a ModelProto's graph (by its first output, if it has no name): its `layer_ann` entry of
/// metadata, else the name of the device of its `pipeline_stage` in the first configuration that it is in.
/// Error: damaged bytes.
Result<std::map<std::string, std::string>> parse_annotations(std::string_view model);

/// The same of a model file; models of other formats have none. Error: it cannot be read, or is damaged.
Result<std::map<std::string, std::string>> read_annotations(const std::string& path);

}  // namespace intarsia
