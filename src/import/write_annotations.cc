#include "import/write_annotations.h"

#include <algorithm>
#include <set>

#include "base/protobuf.h"
#include "import/onnx_messages.h"
#include "import/read_annotations.h"
#include "onnx/onnx_fields.h"

namespace intarsia {
namespace {

using protozero::pbf_reader;

/// Returns the bytes of the next field, with tag and length, and moves the reader past it.
std::string_view take_field(pbf_reader& message) {
  const char* begin = message.data().data();
  message.next();
  message.skip();
  return {begin, static_cast<size_t>(message.data().data() - begin)};
}

/// Number of a field, and its content if that has a length.
struct Field {
  uint32_t tag = 0;
  std::string_view content;
};

Field open_field(std::string_view field) {
  pbf_reader message = read_message(field);
  message.next();
  const bool has_length = message.wire_type() == protozero::pbf_wire_type::length_delimited;
  return {message.tag(), has_length ? read_bytes(message) : std::string_view()};
}

/// Returns the tag and length of a field with `bytes` bytes.
std::string field_head(uint32_t tag, uint64_t bytes) {
  std::string head;
  const auto add_varint = [&](uint64_t number) {
    for (; number >= 0x80; number >>= 7) head += static_cast<char>(0x80 | (number & 0x7f));
    head += static_cast<char>(number);
  };
  add_varint(tag << 3 | static_cast<uint32_t>(protozero::pbf_wire_type::length_delimited));
  add_varint(bytes);
  return head;
}

/// Returns the node's fields with another `layer_ann`.
std::string annotate_node(std::string_view node, const std::string& place) {
  std::string result;
  pbf_reader message = read_message(node);
  while (message) {
    const std::string_view bytes = take_field(message);
    const Field field = open_field(bytes);
    if (field.tag != onnx::node::metadata_props || onnx::read_string_entry(field.content).first != layer_key)
      result += bytes;
  }
  if (place.empty()) return result;
  std::string entry;
  protozero::pbf_writer writer(entry);
  writer.add_string(onnx::string_entry::key, std::string(layer_key));
  writer.add_string(onnx::string_entry::value, place);
  protozero::pbf_writer(result).add_message(onnx::node::metadata_props, entry);
  return result;
}

BytePieces annotate_graph(std::string_view graph, const std::vector<std::string>& places) {
  BytePieces pieces;
  pbf_reader message = read_message(graph);
  size_t number = 0;
  while (message) {
    const std::string_view bytes = take_field(message);
    const Field field = open_field(bytes);
    if (field.tag != onnx::graph::node) {
      pieces.add(bytes);
      continue;
    }
    std::string node = annotate_node(field.content, places.at(number++));
    pieces.add_own(field_head(field.tag, node.size()) + node);
  }
  return pieces;
}

/// Collector of the external files of tensors in a graph, at any depth, and in a node or function, which have
/// nodes and attributes as well.
class ExternalFiles {
 public:
  void search_graph(std::string_view graph, int depth = 0) {
    if (depth > deepest) return;  // importing rejects such a model
    const onnx::RawGraph parts = onnx::read_graph(graph);
    for (std::string_view tensor : parts.initializers) search_tensor(tensor);
    for (std::string_view tensor : parts.sparse_initializers) search_sparse(tensor);
    for (std::string_view node : parts.nodes) search_node(node, depth);
  }

  void search_node(std::string_view node, int depth = 0) {
    for (std::string_view attribute : onnx::read_node(node).attributes) search_attribute(attribute, depth);
  }

  std::vector<std::string> found() const { return {locations_.begin(), locations_.end()}; }

 private:
  static constexpr int deepest = 100;  // nesting of subgraphs

  void search_attribute(std::string_view attribute, int depth) {
    pbf_reader message = read_message(attribute);
    while (message.next()) {
      if (message.tag() == onnx::attribute::t || message.tag() == onnx::attribute::tensors)
        search_tensor(read_bytes(message));
      else if (message.tag() == onnx::attribute::g || message.tag() == onnx::attribute::graphs)
        search_graph(read_bytes(message), depth + 1);
      else
        message.skip();
    }
  }

  void search_sparse(std::string_view sparse) {
    pbf_reader message = read_message(sparse);
    while (message.next()) {
      if (message.tag() == onnx::sparse_tensor::values || message.tag() == onnx::sparse_tensor::indices)
        search_tensor(read_bytes(message));
      else
        message.skip();
    }
  }

  void search_tensor(std::string_view tensor) {
    pbf_reader message = read_message(tensor);
    while (message.next(onnx::tensor::external_data)) {
      auto [key, value] = onnx::read_string_entry(read_bytes(message));
      if (key == "location") locations_.insert(std::move(value));
    }
  }

  std::set<std::string> locations_;
};

template <typename Read>
auto read_model_bytes(Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const protozero::exception& damage) {
    return fail(ErrorKind::corrupt, "is not a valid ONNX model: damaged protobuf ({})", damage.what());
  }
}

}  // namespace

void BytePieces::add(std::string_view bytes) {
  size_ += bytes.size();
  const bool follows = !pieces_.empty() && pieces_.back().data() + pieces_.back().size() == bytes.data();
  if (follows)
    pieces_.back() = {pieces_.back().data(), pieces_.back().size() + bytes.size()};
  else
    pieces_.push_back(bytes);
}

void BytePieces::add_own(std::string bytes) {
  size_ += bytes.size();
  pieces_.push_back(*own_.emplace_back(std::make_unique<const std::string>(std::move(bytes))));
}

void BytePieces::append(BytePieces other) {
  size_ += other.size_;
  for (std::string_view piece : other.pieces_) pieces_.push_back(piece);
  std::ranges::move(other.own_, std::back_inserter(own_));
}

Result<std::vector<FileNode>> read_file_nodes(std::string_view model) {
  return read_model_bytes([&] {
    std::vector<FileNode> nodes;
    for (std::string_view bytes : onnx::read_graph(onnx::read_model(model).graph).nodes) {
      onnx::RawNode node = onnx::read_node(bytes);
      nodes.push_back({std::move(node.name), std::move(node.outputs)});
    }
    return nodes;
  });
}

Result<std::vector<std::string>> find_external_files(std::string_view model) {
  return read_model_bytes([&] {
    const onnx::RawModel parts = onnx::read_model(model);
    ExternalFiles files;
    files.search_graph(parts.graph);
    for (std::string_view function : parts.functions) {
      for (std::string_view node : onnx::read_function(function).nodes) files.search_node(node);
    }
    return files.found();
  });
}

Result<BytePieces> write_annotations(std::string_view model, const std::vector<std::string>& places) {
  BytePieces pieces = TRY(read_model_bytes([&] {
    const char* const graph_begin = onnx::read_model(model).graph.data();
    BytePieces whole;
    pbf_reader message = read_message(model);
    while (message) {
      const std::string_view bytes = take_field(message);
      const Field field = open_field(bytes);
      if (field.tag != onnx::model::graph || field.content.data() != graph_begin) {
        whole.add(bytes);
        continue;
      }
      BytePieces graph = annotate_graph(field.content, places);
      whole.add_own(field_head(field.tag, graph.size()));
      whole.append(std::move(graph));
    }
    return whole;
  }));
  constexpr uint64_t most = 0x7fffffff;  // size limit of a protobuf message
  if (pieces.size() <= most) return pieces;
  return fail(
      ErrorKind::unsupported,
      "its {} bytes with the plan are more than an ONNX file can have (2 GB): keep its weights in files "
      "beside it, or the plan in one of its own (compile --save-plan)",
      pieces.size());
}

}  // namespace intarsia
