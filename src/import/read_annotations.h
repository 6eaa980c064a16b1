// Targets and slots that a model's metadata names for its nodes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// Key of the entry in a node's metadata.
inline constexpr std::string_view layer_key = "layer_ann";

/// Places by the outputs of nodes, and by their names (by the first output if they have none), which may be
/// equal.
struct Annotations {
  std::map<std::string, std::string> by_output, by_name;
};

/// Returns the places of the nodes of a ModelProto's graph: their `layer_ann` entries of metadata, else the
/// names of the devices of their `pipeline_stage` in the first configuration that they are in. Error: damaged
/// bytes.
Result<Annotations> parse_annotations(std::string_view model);

/// Returns the places in a model file; models of other formats have none. Error: it cannot be read, or is
/// damaged.
Result<Annotations> read_annotations(const std::string& path);

}  // namespace intarsia
