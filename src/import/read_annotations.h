// Where the metadata of a model wants its nodes to run.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace intarsia {

/// By node of an ONNX model's graph (by its first output, if it has no name): its `layer_ann` entry of
/// metadata, else the name of the device of its `pipeline_stage` in the first configuration that it is in.
/// Models of other formats have none. Error: the file cannot be read or is damaged.
Result<std::map<std::string, std::string>> read_annotations(const std::string& path);

}  // namespace intarsia
