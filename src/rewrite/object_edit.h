// Removal of objects from the graphs of objects of a SavedModel and of its checkpoint.
#pragma once

#include <map>
#include <set>
#include <string>

namespace intarsia {

/// What goes away from the objects of a SavedModel.
struct RemovedObjects {
  std::set<uint32_t> objects = {};
  std::map<std::string, std::set<size_t>> captures = {};  // of functions that stay, by number
  std::set<std::string> functions = {};
};

/// Writes a SavedObjectGraph without all this. Lists of objects close up. Throws protozero::exception on
/// malformed bytes.
std::string remove_saved_objects(std::string_view bytes, const RemovedObjects& removed);

/// Writes a TrackableObjectGraph, which a checkpoint holds, without the variables of these tensors. Throws
/// the same.
std::string remove_checkpoint_objects(std::string_view bytes, const std::set<std::string>& keys);

}  // namespace intarsia
