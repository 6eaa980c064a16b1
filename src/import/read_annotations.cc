#include "import/read_annotations.h"

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/files/mapped_file.h"
#include "base/protobuf.h"
#include "import/import_model.h"
#include "import/onnx_messages.h"
#include "onnx/onnx_fields.h"

namespace intarsia {
namespace {

using protozero::pbf_reader;

/// Names of the devices of each configuration, by its name.
using Configurations = std::map<std::string, std::vector<std::string>>;

Configurations read_configurations(std::string_view model) {
  Configurations configurations;
  pbf_reader message = read_message(model);
  while (message.next(onnx::model::configuration)) {
    pbf_reader entry = message.get_message();
    std::string name;
    std::vector<std::string> devices;
    while (entry.next()) {
      if (entry.tag() == onnx::device_configuration::name)
        name = entry.get_string();
      else if (entry.tag() == onnx::device_configuration::device)
        devices.push_back(entry.get_string());
      else
        entry.skip();
    }
    configurations[name] = std::move(devices);
  }
  return configurations;
}

std::optional<std::string> read_layer(std::string_view node) {
  pbf_reader message = read_message(node);
  while (message.next(onnx::node::metadata_props)) {
    auto [key, value] = onnx::read_string_entry(read_bytes(message));
    if (key == layer_key) return std::move(value);
  }
  return std::nullopt;
}

std::optional<std::string> read_device(std::string_view node, const Configurations& configurations) {
  pbf_reader message = read_message(node);
  while (message.next(onnx::node::device_configurations)) {
    pbf_reader entry = message.get_message();
    std::string configuration;
    int32_t stage = -1;
    while (entry.next()) {
      if (entry.tag() == onnx::node_device_configuration::configuration_id)
        configuration = entry.get_string();
      else if (entry.tag() == onnx::node_device_configuration::pipeline_stage)
        stage = entry.get_int32();
      else
        entry.skip();
    }
    const auto devices = configurations.find(configuration);
    if (devices == configurations.end() || stage < 0) continue;
    if (static_cast<size_t>(stage) < devices->second.size())
      return devices->second[static_cast<size_t>(stage)];
  }
  return std::nullopt;
}

Annotations read_all(std::string_view model) {
  const Configurations configurations = read_configurations(model);
  Annotations annotations;
  for (std::string_view bytes : onnx::read_graph(onnx::read_model(model).graph).nodes) {
    std::optional<std::string> place = read_layer(bytes);
    if (!place) place = read_device(bytes, configurations);
    if (!place) continue;
    const onnx::RawNode node = onnx::read_node(bytes);
    const bool has_name = !node.name.empty() || node.outputs.empty();
    for (const std::string& output : node.outputs) annotations.by_output[output] = *place;
    annotations.by_name[has_name ? node.name : node.outputs[0]] = std::move(*place);
  }
  return annotations;
}

}  // namespace

Result<Annotations> parse_annotations(std::string_view model) {
  try {
    return read_all(model);
  } catch (const protozero::exception& damage) {
    return fail(ErrorKind::corrupt, "is not a valid ONNX model: damaged protobuf ({})", damage.what());
  }
}

Result<Annotations> read_annotations(const std::string& path) {
  if (find_model_format(path) != ModelFormat::onnx) return Annotations();
  const MappedFile file = TRY(map_file(path));
  return with_context(parse_annotations(as_text(file.bytes)), "model '{}'", path);
}

}  // namespace intarsia
