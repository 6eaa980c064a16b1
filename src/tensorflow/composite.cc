#include "tensorflow/composite.h"

#include <charconv>

#include "base/protobuf.h"
#include "tensorflow/fields.h"

namespace intarsia::tensorflow {
namespace {

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0)
    return std::nullopt;
  return number;
}

}  // namespace

Status set_composite(Attributes& attributes, const Composite& composite) {
  EncodedAttribute graph;
  protozero::pbf_writer out(graph.bytes);
  for (const NodeDef& node : composite.nodes) {
    out.add_message(graph_def::node, write_node(node, TRY(encode_attributes(node.attributes))));
  }
  attributes.set(nodes_attribute, std::move(graph));
  attributes.set(outputs_attribute, composite.outputs);
  return {};
}

Result<std::optional<Composite>> get_composite(const Attributes& attributes) {
  const AttributeValue* value = attributes.find(nodes_attribute);
  const auto* encoded = value ? std::get_if<EncodedAttribute>(value) : nullptr;
  if (encoded == nullptr) return std::nullopt;
  GraphDef graph = TRY(read_graph(encoded->bytes));
  return Composite{std::move(graph.nodes), attributes.get_strings(outputs_attribute)};
}

std::optional<size_t> input_number(const std::string& reference) {
  if (!reference.starts_with('@')) return std::nullopt;
  return parse_number(std::string_view(reference).substr(1));
}

TensorReference parse_reference(const std::string& text) {
  if (text.starts_with('^')) return {text.substr(1), -1};
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, 0};
  const std::optional<int> number = parse_number(std::string_view(text).substr(colon + 1));
  return number ? TensorReference{text.substr(0, colon), *number} : TensorReference{text, 0};
}

}  // namespace intarsia::tensorflow
