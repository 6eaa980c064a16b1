#include "rewrite/object_edit.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/protobuf.h"
#include "tensorflow/fields.h"
#include "tensorflow/map_entry.h"
#include "tensorflow/object_graph.h"

namespace intarsia {

using namespace tensorflow;
using protozero::pbf_reader;
using protozero::pbf_writer;

namespace {

/// Fields of trackable_object_graph.proto and saved_object_graph.proto that hold numbers of objects.
constexpr uint32_t slot_variables = 3, saveable_objects = 11, dependencies = 15;
namespace slot_variable {
enum : uint32_t { original = 1, slot = 3 };
}
namespace saveable_object {
enum : uint32_t { save_function = 2, restore_function = 3 };
}

/// Numbers of objects before and after some are removed.
class Renumbering {
 public:
  Renumbering(size_t count, const std::set<uint32_t>& removed) : removed_(removed), numbers_(count) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < count; ++i) numbers_[i] = removed.contains(i) ? 0 : next++;
  }
  bool is_removed(uint32_t old) const { return removed_.contains(old) || old >= numbers_.size(); }
  uint32_t number(uint32_t old) const { return numbers_[old]; }

 private:
  const std::set<uint32_t>& removed_;
  std::vector<uint32_t> numbers_;
};

struct Reference {
  uint32_t object = 0;
  std::string name;
};

Reference read_reference(std::string_view bytes) {
  Reference reference;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == object_reference::node_id)
      reference.object = static_cast<uint32_t>(message.get_int32());
    else if (message.tag() == object_reference::local_name)
      reference.name = message.get_string();
    else
      message.skip();
  }
  return reference;
}

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

/// Writes the references of one kind that an object has; elements of a list, whose names are numbers, close
/// up.
void write_references(std::vector<Reference> references, uint32_t tag, const Renumbering& numbers,
                      pbf_writer& out) {
  const bool is_list =
      std::ranges::all_of(references, [](const Reference& one) { return is_number(one.name); });
  if (is_list)
    std::ranges::sort(references, {},
                      [](const Reference& one) { return std::pair(one.name.size(), one.name); });
  const bool is_whole =
      std::ranges::none_of(references, [&](const Reference& one) { return numbers.is_removed(one.object); });
  size_t next = 0;
  for (const Reference& one : references) {
    if (numbers.is_removed(one.object)) continue;
    pbf_writer reference(out, tag);
    reference.add_int32(object_reference::node_id, static_cast<int32_t>(numbers.number(one.object)));
    reference.add_string(object_reference::local_name,
                         is_list && !is_whole ? std::to_string(next++) : one.name);
  }
}

/// Writes a message some of whose fields are numbers of objects; nullopt if one of these is removed.
std::optional<std::string> renumber(std::string_view bytes, const std::set<uint32_t>& fields,
                                    const Renumbering& numbers) {
  std::string written;
  pbf_writer out(written);
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (!fields.contains(message.tag())) {
      copy_field(message, out);
      continue;
    }
    const uint32_t tag = message.tag();
    const auto object = static_cast<uint32_t>(message.get_int32());
    if (numbers.is_removed(object)) return std::nullopt;
    out.add_int32(tag, static_cast<int32_t>(numbers.number(object)));
  }
  return written;
}

/// Writes an optimizer's variable that belongs to another, unless one of them is removed.
void write_slot(std::string_view bytes, const Renumbering& numbers, pbf_writer& out) {
  if (const auto slot = renumber(bytes, {slot_variable::original, slot_variable::slot}, numbers))
    out.add_message(slot_variables, *slot);
}

/// Writes the functions that save and restore an object.
void write_saveable(std::string_view bytes, const Renumbering& numbers, pbf_writer& out) {
  pbf_writer entry(out, saveable_objects);
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() != map_entry::value) {
      copy_field(message, entry);
      continue;
    }
    const auto functions = renumber(
        read_bytes(message), {saveable_object::save_function, saveable_object::restore_function}, numbers);
    entry.add_message(map_entry::value, functions.value_or(""));
  }
}

void write_object(std::string_view bytes, const Renumbering& numbers, pbf_writer& out) {
  std::vector<Reference> children, depends;
  std::string written;
  pbf_writer object(written);
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == object_node::children)
      children.push_back(read_reference(read_bytes(message)));
    else if (message.tag() == dependencies)
      depends.push_back(read_reference(read_bytes(message)));
    else if (message.tag() == slot_variables)
      write_slot(read_bytes(message), numbers, object);
    else if (message.tag() == saveable_objects)
      write_saveable(read_bytes(message), numbers, object);
    else
      copy_field(message, object);
  }
  write_references(std::move(children), object_node::children, numbers, object);
  write_references(std::move(depends), dependencies, numbers, object);
  out.add_message(object_graph::nodes, written);
}

/// Writes the captures of a function, which are numbers of objects.
void write_captures(std::string_view entry, const RemovedObjects& removed, const ObjectGraph& graph,
                    const Renumbering& numbers, pbf_writer& out) {
  const auto [name, old] = read_entry(read_message(entry));
  std::string rest;
  pbf_writer function(rest);
  if (removed.functions.contains(name)) return;
  pbf_reader message = read_message(old);
  while (message.next()) {
    if (message.tag() == concrete_function::bound_inputs)
      message.skip();
    else
      copy_field(message, function);
  }
  const auto gone = removed.captures.find(name);
  std::vector<int32_t> captures;
  const std::vector<uint32_t>& all = graph.captures.at(name);
  for (size_t i = 0; i < all.size(); ++i)
    if (!numbers.is_removed(all[i]) && (gone == removed.captures.end() || !gone->second.contains(i)))
      captures.push_back(static_cast<int32_t>(numbers.number(all[i])));
  function.add_packed_int32(concrete_function::bound_inputs, captures.begin(), captures.end());
  write_entry(out, object_graph::concrete_functions, name, rest);
}

}  // namespace

std::string remove_saved_objects(std::string_view bytes, const RemovedObjects& removed) {
  const ObjectGraph graph = read_saved_objects(bytes);
  const Renumbering numbers(graph.objects.size(), removed.objects);
  std::string written;
  pbf_writer out(written);
  pbf_reader message = read_message(bytes);
  for (uint32_t i = 0; message.next();) {
    if (message.tag() == object_graph::nodes && removed.objects.contains(i++))
      message.skip();
    else if (message.tag() == object_graph::nodes)
      write_object(read_bytes(message), numbers, out);
    else if (message.tag() == object_graph::concrete_functions)
      write_captures(read_bytes(message), removed, graph, numbers, out);
    else
      copy_field(message, out);
  }
  return written;
}

std::string remove_checkpoint_objects(std::string_view bytes, const std::set<std::string>& keys) {
  const ObjectGraph graph = read_checkpoint_objects(bytes);
  std::set<uint32_t> removed;
  for (uint32_t i = 0; i < graph.objects.size(); ++i)
    if (keys.contains(graph.objects[i].variable_key)) removed.insert(i);
  const Renumbering numbers(graph.objects.size(), removed);
  std::string written;
  pbf_writer out(written);
  pbf_reader message = read_message(bytes);
  for (uint32_t i = 0; message.next();) {
    if (message.tag() == object_graph::nodes && removed.contains(i++))
      message.skip();
    else if (message.tag() == object_graph::nodes)
      write_object(read_bytes(message), numbers, out);
    else
      copy_field(message, out);
  }
  return written;
}

}  // namespace intarsia
