// Objects (modules, layers, variables) of a SavedModel and of its checkpoint. Both name them by the path of
// attribute names from the root.
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
  std::string variable_key;                  // name of a variable's tensor in the checkpoint
  bool is_variable = false;                  // in a SavedModel
  std::string captured_tensor, captured_in;  // tensor "node:0" that it is, and the function that makes it
};

struct ObjectGraph {
  std::vector<TrackedObject> objects;  // the root comes first
  /// Objects that a SavedModel's functions capture, in the order of their trailing arguments, by function.
  std::map<std::string, std::vector<uint32_t>> captures;
};

/// Reads a SavedObjectGraph. Throws protozero::exception on malformed bytes.
ObjectGraph read_saved_objects(std::string_view bytes);
/// Reads a TrackableObjectGraph, which a checkpoint holds under `checkpoint_graph_key`. Throws the same.
ObjectGraph read_checkpoint_objects(std::string_view bytes);
inline constexpr const char* checkpoint_graph_key = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// Returns one of the shortest paths to each object; nullopt for an object that cannot be reached from the
/// root.
std::vector<std::optional<ObjectPath>> find_paths(const ObjectGraph& graph);
/// Returns the object at the path; null if there is none.
const TrackedObject* find_object(const ObjectGraph& graph, const ObjectPath& path);

}  // namespace intarsia::tensorflow
