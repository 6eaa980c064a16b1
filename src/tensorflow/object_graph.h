// The objects (modules, layers, variables) of a SavedModel and of its checkpoint. Both name them alike: by
// the path of attribute names from the root.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace intarsia::tensorflow {

/// Local names from the root to an object: {"layer", "_kernel"}.
using ObjectPath = std::vector<std::string>;

struct TrackedObject {
  std::map<std::string, uint32_t> children;  // local name -> number
  std::string variable_key;                  // of a variable in a checkpoint: the name of its tensor there
};

struct ObjectGraph {
  std::vector<TrackedObject> objects;  // the first is the root
  /// Of a SavedModel: the objects that functions capture, in the order of their trailing arguments.
  std::map<std::string, std::vector<uint32_t>> captures;
};

/// A SavedObjectGraph. Throws protozero::exception on malformed bytes.
ObjectGraph read_saved_objects(std::string_view bytes);
/// A TrackableObjectGraph, which a checkpoint holds under `checkpoint_graph_key`. Throws the same.
ObjectGraph read_checkpoint_objects(std::string_view bytes);
inline constexpr const char* checkpoint_graph_key = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// One of the shortest ways to each object; none to an object that cannot be reached from the root.
std::vector<std::optional<ObjectPath>> find_paths(const ObjectGraph& graph);
/// Null: there is nothing.
const TrackedObject* find_object(const ObjectGraph& graph, const ObjectPath& path);

}  // namespace intarsia::tensorflow
