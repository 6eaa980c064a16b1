#include "tensorflow/object_graph.h"

#include "base/protobuf.h"
#include "tensorflow/fields.h"
#include "tensorflow/map_entry.h"

namespace intarsia::tensorflow {
namespace {

using protozero::pbf_reader;

void read_child(pbf_reader message, TrackedObject& object) {
  uint32_t number = 0;  // default: the writer omits 0
  std::string name;
  while (message.next()) {
    if (message.tag() == object_reference::node_id)
      number = static_cast<uint32_t>(message.get_int32());
    else if (message.tag() == object_reference::local_name)
      name = message.get_string();
    else
      message.skip();
  }
  object.children[name] = number;
}

/// Remembers the tensor if it is the value of a variable.
void read_value(pbf_reader message, TrackedObject& object) {
  std::string name, key;
  while (message.next()) {
    if (message.tag() == serialized_tensor::name)
      name = message.get_string();
    else if (message.tag() == serialized_tensor::checkpoint_key)
      key = message.get_string();
    else
      message.skip();
  }
  if (name == "VARIABLE_VALUE") object.variable_key = key;
}

void read_captured_tensor(pbf_reader message, TrackedObject& object) {
  while (message.next()) {
    if (message.tag() == captured_tensor::name)
      object.captured_tensor = message.get_string();
    else if (message.tag() == captured_tensor::concrete_function)
      object.captured_in = message.get_string();
    else
      message.skip();
  }
}

TrackedObject read_object(pbf_reader message, bool has_values) {
  TrackedObject object;
  while (message.next()) {
    if (message.tag() == object_node::children)
      read_child(message.get_message(), object);
    else if (has_values && message.tag() == trackable_object::attributes)
      read_value(message.get_message(), object);
    else if (!has_values && message.tag() == object_node::captured_tensor)
      read_captured_tensor(message.get_message(), object);
    else {
      object.is_variable = object.is_variable || (!has_values && message.tag() == object_node::variable);
      message.skip();
    }
  }
  return object;
}

std::vector<uint32_t> read_captures(std::string_view bytes) {
  std::vector<uint32_t> captures;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() != concrete_function::bound_inputs) {
      message.skip();
    } else if (message.wire_type() == protozero::pbf_wire_type::varint) {
      captures.push_back(static_cast<uint32_t>(message.get_int32()));
    } else {
      for (int32_t number : message.get_packed_int32()) captures.push_back(static_cast<uint32_t>(number));
    }
  }
  return captures;
}

void read_function(pbf_reader entry, ObjectGraph& graph) {
  const auto [name, function] = read_entry(entry);
  graph.captures[name] = read_captures(function);
}

ObjectGraph read_objects(std::string_view bytes, bool is_checkpoint) {
  ObjectGraph graph;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == object_graph::nodes)
      graph.objects.push_back(read_object(message.get_message(), is_checkpoint));
    else if (!is_checkpoint && message.tag() == object_graph::concrete_functions)
      read_function(message.get_message(), graph);
    else
      message.skip();
  }
  return graph;
}

}  // namespace

ObjectGraph read_saved_objects(std::string_view bytes) { return read_objects(bytes, false); }
ObjectGraph read_checkpoint_objects(std::string_view bytes) { return read_objects(bytes, true); }

std::vector<std::optional<ObjectPath>> find_paths(const ObjectGraph& graph) {
  std::vector<std::optional<ObjectPath>> paths(graph.objects.size());
  if (paths.empty()) return paths;
  paths[0].emplace();
  std::vector<uint32_t> queue{0};
  for (size_t next = 0; next < queue.size(); ++next) {
    const uint32_t from = queue[next];
    for (const auto& [name, child] : graph.objects[from].children) {
      if (child >= paths.size() || paths[child]) continue;
      paths[child] = paths[from];
      paths[child]->push_back(name);
      queue.push_back(child);
    }
  }
  return paths;
}

const TrackedObject* find_object(const ObjectGraph& graph, const ObjectPath& path) {
  if (graph.objects.empty()) return nullptr;
  const TrackedObject* object = &graph.objects[0];
  for (const std::string& name : path) {
    const auto child = object->children.find(name);
    if (child == object->children.end() || child->second >= graph.objects.size()) return nullptr;
    object = &graph.objects[child->second];
  }
  return object;
}

}  // namespace intarsia::tensorflow
