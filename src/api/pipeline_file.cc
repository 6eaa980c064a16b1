#include "api/pipeline_file.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "api/run_backends.h"
#include "base/mapped_file.h"

namespace intarsia::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr int file_version = 1;
constexpr const char* version_key = "intarsia_pipeline";

Status check_object(const Json& object, const std::set<std::string>& known, const std::string& where) {
  if (!object.is_object()) return fail("{}: want an object", where);
  for (const auto& [key, value] : object.items())
    if (!known.contains(key)) return fail("{}: unknown key \"{}\"", where, key);
  return {};
}

/// A text; empty where the key is missing.
Result<std::string> read_text(const Json& object, const char* key, const std::string& where) {
  const auto value = object.find(key);
  if (value == object.end()) return std::string();
  if (!value->is_string()) return fail("{}, \"{}\": want a text", where, key);
  return value->get<std::string>();
}

/// A whole number up to `most`; nothing where the key is missing.
Result<std::optional<int>> read_number(const Json& object, const char* key, int least,
                                       const std::string& where) {
  constexpr int most = 1 << 20;
  const auto value = object.find(key);
  if (value == object.end()) return std::nullopt;
  if (!value->is_number_integer() || value->get<int64_t>() < least || value->get<int64_t>() > most)
    return fail("{}, \"{}\": got {}, want a whole number from {} to {}", where, key, value->dump(), least,
                most);
  return value->get<int>();
}

Result<BindOptions> read_binding(const Json& object, const std::string& where) {
  BindOptions options;
  options.threads = TRY(read_number(object, "threads", 0, where)).value_or(0);
  const auto devices = object.find("devices");
  if (devices == object.end()) return options;
  if (!devices->is_object()) return fail("{}, \"devices\": want an object of slots and devices", where);
  for (const auto& [slot, device] : devices->items()) {
    if (!device.is_string()) return fail("{}, slot '{}': want a device, as in \"cpu:0\"", where, slot);
    options.devices.emplace_back(slot, device.get<std::string>());
  }
  return options;
}

/// Adds what a file says to a builder.
class PipelineReader {
 public:
  PipelineReader(intarsia_pipeline_builder& builder, std::filesystem::path folder)
      : builder_(builder), folder_(std::move(folder)) {}

  Status read(const Json& file) {
    TRY(check_object(file, {version_key, "depth", "timeout_ms", "stages", "connections", "inputs", "outputs"},
                     "the file"));
    if (const Json version = file.value(version_key, Json()); version != file_version)
      return fail("\"{}\": got {}, want {}", version_key, version.dump(), file_version);
    TRY(read_options(file));
    const auto stages = file.find("stages");
    if (stages == file.end() || !stages->is_array() || stages->empty())
      return fail("want a list \"stages\" of one or more");
    for (const Json& stage : *stages) TRY(read_stage(stage, fmt::format("stage {}", stages_++)));
    TRY(read_connections(file));
    TRY(read_inputs(file));
    TRY(read_outputs(file));
    builder_.graph.connect_by_name();
    return {};
  }

 private:
  Status read_options(const Json& file) {
    builder_.depth = static_cast<size_t>(TRY(read_number(file, "depth", 1, "the file")).value_or(2));
    const auto timeout = file.find("timeout_ms");
    if (timeout == file.end()) return {};
    constexpr double most_ms = 1e9;
    if (!timeout->is_number() || !(timeout->get<double>() >= 0 && timeout->get<double>() <= most_ms))
      return fail("\"timeout_ms\": got {}, want 0 (none) to {}", timeout->dump(), most_ms);
    builder_.timeout_ns = std::llround(timeout->get<double>() * 1e6);
    return {};
  }

  Status read_stage(const Json& stage, std::string where) {
    if (stage.is_object() && stage.contains("stages_of")) return read_stages_of(stage, where);
    TRY(check_object(stage, {"name", "program", "function", "devices", "threads", "replicas"}, where));
    const std::string name = TRY(read_text(stage, "name", where));
    if (name.empty()) return fail("{}: want a text \"name\"", where);
    where = fmt::format("stage '{}'", name);
    const std::string program = TRY(read_text(stage, "program", where));
    if (program.empty()) return fail("{}: want a text \"program\", the path of a program file", where);
    auto loaded = TRY(load_program((folder_ / program).string(), run_backends()));
    TRY(add_program_stage(builder_, name, {std::move(loaded), TRY(read_text(stage, "function", where))},
                          TRY(read_binding(stage, where))));
    const auto replicas = stage.find("replicas");
    if (replicas == stage.end()) return {};
    if (!replicas->is_array()) return fail("{}, \"replicas\": want a list", where);
    for (const Json& replica : *replicas) {
      TRY(check_object(replica, {"devices", "threads"}, where + ", a replica"));
      TRY(add_replica(builder_, name, TRY(read_binding(replica, where + ", a replica"))));
    }
    return {};
  }

  Status read_stages_of(const Json& stage, const std::string& where) {
    TRY(check_object(stage, {"stages_of", "function"}, where));
    const std::string program = TRY(read_text(stage, "stages_of", where));
    return add_stages_of(builder_, TRY(load_program((folder_ / program).string(), run_backends())),
                         TRY(read_text(stage, "function", where)));
  }

  /// "backbone.features": the names of stages have no dots.
  static Result<PortName> read_port(const Json& port, const std::string& where) {
    const std::string text = port.is_string() ? port.get<std::string>() : "";
    const size_t dot = text.find('.');
    if (dot == 0 || dot == std::string::npos || dot + 1 == text.size())
      return fail("{}: got {}, want \"STAGE.PORT\"", where, port.dump());
    return PortName{text.substr(0, dot), text.substr(dot + 1)};
  }

  Status read_connections(const Json& file) {
    const auto connections = file.find("connections");
    if (connections == file.end()) return {};
    if (!connections->is_array())
      return fail("\"connections\": want a list of [\"STAGE.OUTPUT\", \"STAGE.INPUT\"]");
    for (const Json& pair : *connections) {
      if (!pair.is_array() || pair.size() != 2)
        return fail("connection {}: want [\"STAGE.OUTPUT\", \"STAGE.INPUT\"]", pair.dump());
      const std::string where = "connection " + pair.dump();
      builder_.graph.connections.emplace_back(TRY(read_port(pair[0], where)), TRY(read_port(pair[1], where)));
    }
    return {};
  }

  Status read_inputs(const Json& file) {
    const auto inputs = file.find("inputs");
    if (inputs == file.end()) return {};
    if (!inputs->is_object()) return fail("\"inputs\": want an object of names and lists of \"STAGE.INPUT\"");
    for (const auto& [name, readers] : inputs->items()) {
      if (!readers.is_array()) return fail("input '{}': want a list of \"STAGE.INPUT\"", name);
      for (const Json& reader : readers)
        builder_.graph.connections.emplace_back(PortName{"", name},
                                                TRY(read_port(reader, fmt::format("input '{}'", name))));
    }
    return {};
  }

  Status read_outputs(const Json& file) {
    const auto outputs = file.find("outputs");
    if (outputs == file.end()) return {};
    if (!outputs->is_object()) return fail("\"outputs\": want an object of names and \"STAGE.OUTPUT\"");
    for (const auto& [name, maker] : outputs->items())
      builder_.graph.connections.emplace_back(TRY(read_port(maker, fmt::format("output '{}'", name))),
                                              PortName{"", name});
    return {};
  }

  intarsia_pipeline_builder& builder_;
  std::filesystem::path folder_;
  size_t stages_ = 0;
};

Result<Json> parse_file(const std::string& path) {
  const MappedFile file = TRY(map_file(path));
  const auto* text = reinterpret_cast<const char*>(file.bytes.data());
  Json json = Json::parse(text, text + file.bytes.size(), nullptr, false);
  if (json.is_discarded()) return fail(ErrorKind::corrupt, "it is not JSON");
  return json;
}

}  // namespace

Status read_pipeline_file(intarsia_pipeline_builder& builder, const std::string& path) {
  const auto read = [&]() -> Status {
    const Json json = TRY(parse_file(path));
    return PipelineReader(builder, std::filesystem::path(path).parent_path()).read(json);
  };
  return with_context(read(), "pipeline '{}'", path);
}

}  // namespace intarsia::api
