#include "backends/plugin/graph_reader.h"

#include <algorithm>
#include <cstring>

#include "base/caught.h"
#include "onnx/write_onnx_model.h"

namespace intarsia::plugin {
namespace {

size_t number_of(ValueId id) { return id == no_value ? INTARSIA_PLUGIN_NONE : index(id); }

std::vector<size_t> numbers_of_values(const std::vector<ValueId>& ids) {
  std::vector<size_t> numbers;
  for (ValueId id : ids) numbers.push_back(number_of(id));
  return numbers;
}

/// Fills as much of a struct as the plug-in's header has.
template <typename Struct>
int32_t fill(Struct* to, const Struct& made) {
  const size_t size = to->struct_size;
  std::memcpy(to, &made, std::min(size, sizeof(Struct)));
  to->struct_size = size;
  return INTARSIA_PLUGIN_OK;
}

/// Calls `body` and returns its status; no exception leaves it.
template <typename Body>
int32_t answer(Body body) {
  int32_t status = INTARSIA_PLUGIN_FAILED;
  const Status made = caught([&]() -> Status {
    status = body();
    return {};
  });
  return made ? status : INTARSIA_PLUGIN_OUT_OF_MEMORY;
}

/// Points to the elements; texts go through `pointers`.
struct Lists {
  intarsia_plugin_attribute& out;
  std::vector<const char*>& pointers;

  void operator()(const int64_t& v) { out.ints = &v, out.count = 1; }
  void operator()(const float& v) { out.floats = &v, out.count = 1; }
  void operator()(const std::string& v) { texts({v.c_str()}); }
  void operator()(const std::vector<int64_t>& v) { out.ints = v.data(), out.count = v.size(); }
  void operator()(const std::vector<float>& v) { out.floats = v.data(), out.count = v.size(); }
  void operator()(const std::vector<std::string>& v) {
    std::vector<const char*> list;
    for (const std::string& text : v) list.push_back(text.c_str());
    texts(std::move(list));
  }
  void operator()(const Tensor&) {}
  void operator()(const EncodedAttribute&) {}

  void texts(std::vector<const char*> list) {
    pointers = std::move(list);
    out.strings = pointers.data();
    out.count = pointers.size();
  }
};

GraphReader& reader_of(const intarsia_plugin_graph* graph) { return *static_cast<GraphReader*>(graph->host); }

}  // namespace

GraphReader::GraphReader(const Graph& graph)
    : graph_(graph), inputs_(numbers_of_values(graph.inputs)), outputs_(numbers_of_values(graph.outputs)) {
  view_ = {.struct_size = sizeof(view_),
           .host = this,
           .node_count = graph.nodes.size(),
           .input_count = inputs_.size(),
           .inputs = inputs_.data(),
           .output_count = outputs_.size(),
           .outputs = outputs_.data(),
           .node = read_node,
           .attribute = read_attribute,
           .value = read_value,
           .onnx = read_onnx};
}

const GraphReader::NodeNumbers& GraphReader::numbers_of(size_t node) {
  const auto [at, is_new] = numbers_.try_emplace(node);
  if (is_new) {
    at->second.inputs = numbers_of_values(graph_.nodes[node].inputs);
    at->second.outputs = numbers_of_values(graph_.nodes[node].outputs);
  }
  return at->second;
}

const GraphReader::ValueSizes& GraphReader::sizes_of(size_t value) {
  const auto [at, is_new] = sizes_.try_emplace(value);
  ValueSizes& made = at->second;
  const std::optional<SymbolicShape>& shape = graph_.values[value].type.shape;
  if (!is_new || !shape) return made;
  for (const Dim& dim : *shape) {
    made.sizes.push_back(dim.is_number() ? dim.number() : -1);
    made.texts.push_back(dim.print());
  }
  for (const std::string& text : made.texts) made.pointers.push_back(text.c_str());
  return made;
}

intarsia_plugin_node GraphReader::describe_node(size_t number) {
  const Node& node = graph_.nodes[number];
  const NodeNumbers& numbers = numbers_of(number);
  return {.struct_size = sizeof(intarsia_plugin_node),
          .name = node.name.c_str(),
          .op = node.op.c_str(),
          .domain = node.domain.c_str(),
          .version = node.version,
          .input_count = numbers.inputs.size(),
          .inputs = numbers.inputs.data(),
          .output_count = numbers.outputs.size(),
          .outputs = numbers.outputs.data(),
          .attribute_count = node.attributes.size()};
}

intarsia_plugin_attribute GraphReader::describe_attribute(size_t node, size_t number) {
  const Attributes::Entry& entry = graph_.nodes[node].attributes.begin()[static_cast<ptrdiff_t>(number)];
  intarsia_plugin_attribute made{};
  made.struct_size = sizeof(made);
  made.name = entry.name.c_str();
  std::visit(Lists{made, strings_[{node, number}]}, entry.value);
  return made;
}

intarsia_plugin_value GraphReader::describe_value(size_t number) {
  const Value& value = graph_.values[number];
  const ValueSizes& sizes = sizes_of(number);
  intarsia_plugin_value made{};
  made.struct_size = sizeof(made);
  made.name = value.name.c_str();
  made.dtype = value.type.opaque ? 0 : static_cast<int32_t>(value.type.dtype);
  made.rank = value.type.shape ? static_cast<int32_t>(sizes.sizes.size()) : -1;
  made.sizes = sizes.sizes.data();
  made.size_texts = sizes.pointers.data();
  if (value.constant && value.constant->dtype() != DType::string) {
    made.data = value.constant->data();
    made.bytes = value.constant->bytes();
  }
  if (const Quantization* quantization = value.quantization.get()) {
    made.quantization_count = quantization->scales.size();
    made.scales = quantization->scales.data();
    made.zero_points = quantization->zero_points.data();
    made.quantization_axis = quantization->axis;
  }
  made.producer = value.producer == no_node ? INTARSIA_PLUGIN_NONE : index(value.producer);
  return made;
}

int32_t GraphReader::read_node(const intarsia_plugin_graph* graph, size_t node, intarsia_plugin_node* to) {
  return answer([&]() -> int32_t {
    GraphReader& reader = reader_of(graph);
    if (node >= reader.graph_.nodes.size()) return INTARSIA_PLUGIN_FAILED;
    return fill(to, reader.describe_node(node));
  });
}

int32_t GraphReader::read_attribute(const intarsia_plugin_graph* graph, size_t node, size_t attribute,
                                    intarsia_plugin_attribute* to) {
  return answer([&]() -> int32_t {
    GraphReader& reader = reader_of(graph);
    if (node >= reader.graph_.nodes.size() || attribute >= reader.graph_.nodes[node].attributes.size())
      return INTARSIA_PLUGIN_FAILED;
    return fill(to, reader.describe_attribute(node, attribute));
  });
}

int32_t GraphReader::read_value(const intarsia_plugin_graph* graph, size_t value, intarsia_plugin_value* to) {
  return answer([&]() -> int32_t {
    GraphReader& reader = reader_of(graph);
    if (value >= reader.graph_.values.size()) return INTARSIA_PLUGIN_FAILED;
    return fill(to, reader.describe_value(value));
  });
}

int32_t GraphReader::read_onnx(const intarsia_plugin_graph* graph, const void** bytes, size_t* size,
                               const intarsia_plugin_message* message) {
  return answer([&]() -> int32_t {
    GraphReader& reader = reader_of(graph);
    if (!reader.onnx_) {
      Result<OnnxModel> model = write_onnx_model(reader.graph_);
      if (!model) {
        if (message != nullptr && message->size > 0) {
          const size_t length = model.error().message.copy(message->text, message->size - 1);
          message->text[length] = 0;
        }
        return INTARSIA_PLUGIN_FAILED;
      }
      reader.onnx_ = std::move(model->bytes);
    }
    *bytes = reader.onnx_->data();
    *size = reader.onnx_->size();
    return INTARSIA_PLUGIN_OK;
  });
}

}  // namespace intarsia::plugin
