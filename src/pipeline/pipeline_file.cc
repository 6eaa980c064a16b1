#include "pipeline/pipeline_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_values.h"

namespace intarsia {
namespace {

using Json = nlohmann::ordered_json;

constexpr int file_version = 1;
constexpr const char* version_key = "intarsia_pipeline";

/// Reads a text; empty if the key is missing.
Result<std::string> read_text(const Json& object, const char* key, const std::string& where) {
  const auto value = object.find(key);
  if (value == object.end()) return std::string();
  if (!value->is_string()) return fail("{}, \"{}\": want a text", where, key);
  return value->get<std::string>();
}

/// Reads a whole number from `least` up; nullopt if the key is missing.
Result<std::optional<int>> read_number(const Json& object, const char* key, int least,
                                       const std::string& where) {
  constexpr int most = 1 << 20;
  const auto value = object.find(key);
  if (value == object.end()) return std::nullopt;
  if (!value->is_number_integer() || value->get<int64_t>() < least || value->get<int64_t>() > most)
    return fail("{}, \"{}\": got {}, want a whole number from {} to {}", where, key, print_value(*value),
                least, most);
  return value->get<int>();
}

/// Reads milliseconds as nanoseconds; 0 if the key is missing.
Result<int64_t> read_milliseconds(const Json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end()) return 0;
  constexpr double most_ms = 1e9;
  if (!value->is_number() || !(value->get<double>() >= 0 && value->get<double>() <= most_ms))
    return fail("\"{}\": got {}, want 0 (none) to {}", key, print_value(*value), most_ms);
  return std::llround(value->get<double>() * 1e6);
}

/// Reads a queue policy; nullopt if the key is missing.
Result<std::optional<QueuePolicy>> read_queue(const Json& object, const std::string& where) {
  const std::string text = TRY(read_text(object, "queue", where));
  if (text.empty()) return std::nullopt;
  if (text == "block") return QueuePolicy::block;
  if (text == "drop_oldest") return QueuePolicy::drop_oldest;
  if (text == "latest") return QueuePolicy::latest;
  return fail("{}, \"queue\": got \"{}\", want \"block\", \"drop_oldest\" or \"latest\"", where, text);
}

Result<StageOptions> read_stage_options(const Json& object, const std::string& where) {
  StageOptions options{.queue = TRY(read_queue(object, where))};
  if (const auto gather = object.find("gather"); gather != object.end()) {
    if (!gather->is_boolean()) return fail("{}, \"gather\": want true or false", where);
    options.gathers = gather->get<bool>();
  }
  const auto scatter = object.find("scatter");
  if (scatter == object.end()) return options;
  const auto is_text = [](const Json& output) { return output.is_string(); };
  if (!scatter->is_array() || !std::ranges::all_of(*scatter, is_text))
    return fail("{}, \"scatter\": want a list of outputs", where);
  options.scatter = scatter->get<std::vector<std::string>>();
  return options;
}

Result<BindOptions> read_binding(const Json& object, const std::string& where) {
  BindOptions options;
  options.threads = TRY(read_number(object, "threads", 0, where)).value_or(0);
  const std::string on_lost = TRY(read_text(object, "on_device_lost", where));
  if (on_lost == "error")
    options.on_device_lost = OnDeviceLost::error;
  else if (!on_lost.empty() && on_lost != "alternative")
    return fail("{}, \"on_device_lost\": got \"{}\", want \"alternative\" or \"error\"", where, on_lost);
  const auto devices = object.find("devices");
  if (devices == object.end()) return options;
  if (!devices->is_object()) return fail("{}, \"devices\": want an object of slots and devices", where);
  for (const auto& [slot, device] : devices->items()) {
    if (!device.is_string()) return fail("{}, slot '{}': want a device, as in \"cpu:0\"", where, slot);
    options.devices.emplace_back(slot, device.get<std::string>());
  }
  return options;
}

Result<PipelineFile::Session> read_session(const Json& object, const std::string& where) {
  PipelineFile::Session session;
  session.program = TRY(read_text(object, "program", where));
  session.function = TRY(read_text(object, "function", where));
  session.binding = TRY(read_binding(object, where));
  return session;
}

class PipelineFileReader {
 public:
  Result<PipelineFile> read(const Json& json) {
    TRY(check_keys(json,
                   {version_key, "depth", "queue", "timeout_ms", "deadline_ms", "stages", "connections",
                    "inputs", "outputs"},
                   "the file"));
    TRY(check_version(json, version_key, file_version));
    TRY(read_options(json));
    const auto stages = json.find("stages");
    if (stages == json.end() || !stages->is_array() || stages->empty())
      return fail("want a list \"stages\" of one or more");
    for (const Json& stage : *stages)
      file_.stages.push_back(TRY(read_stage(stage, fmt::format("stage {}", file_.stages.size()))));
    TRY(read_connections(json));
    TRY(read_inputs(json));
    TRY(read_outputs(json));
    return std::move(file_);
  }

 private:
  Status read_options(const Json& json) {
    PipelineOptions& options = file_.options;
    if (const auto depth = TRY(read_number(json, "depth", 1, "the file")))
      options.depth = static_cast<size_t>(*depth);
    options.queue = TRY(read_queue(json, "the file")).value_or(options.queue);
    options.timeout_ns = TRY(read_milliseconds(json, "timeout_ms"));
    options.deadline_ns = TRY(read_milliseconds(json, "deadline_ms"));
    return {};
  }

  static Result<PipelineFile::Stage> read_stage(const Json& json, std::string where) {
    PipelineFile::Stage stage;
    if (json.is_object() && json.contains("stages_of")) {
      TRY(check_keys(json, {"stages_of", "function"}, where));
      stage.replicas.push_back(
          {TRY(read_text(json, "stages_of", where)), TRY(read_text(json, "function", where))});
      return stage;
    }
    TRY(check_keys(json,
                   {"name", "program", "function", "devices", "threads", "on_device_lost", "replicas",
                    "queue", "scatter", "gather"},
                   where));
    stage.name = TRY(read_text(json, "name", where));
    if (stage.name.empty()) return fail("{}: want a text \"name\"", where);
    where = fmt::format("stage '{}'", stage.name);
    const PipelineFile::Session first = TRY(read_session(json, where));
    if (first.program.empty()) return fail("{}: want a text \"program\", the path of a program file", where);
    stage.replicas.push_back(first);
    stage.options = TRY(read_stage_options(json, where));
    const auto replicas = json.find("replicas");
    if (replicas == json.end()) return stage;
    if (!replicas->is_array()) return fail("{}, \"replicas\": want a list", where);
    where += ", a replica";
    for (const Json& replica : *replicas) {
      TRY(check_keys(replica, {"program", "function", "devices", "threads", "on_device_lost"}, where));
      PipelineFile::Session session = TRY(read_session(replica, where));
      if (session.program.empty() && !session.function.empty())
        return fail("{}: \"function\" is of a \"program\" of its own", where);
      if (session.program.empty()) session = {first.program, first.function, session.binding};
      stage.replicas.push_back(std::move(session));
    }
    return stage;
  }

  /// Reads a port, as in "backbone.features"; names of stages have no dots.
  static Result<PortName> read_port(const Json& port, const std::string& where) {
    const std::string text = port.is_string() ? port.get<std::string>() : "";
    const size_t dot = text.find('.');
    if (dot == 0 || dot == std::string::npos || dot + 1 == text.size())
      return fail("{}: got {}, want \"STAGE.PORT\"", where, print_value(port));
    return PortName{text.substr(0, dot), text.substr(dot + 1)};
  }

  Status read_connections(const Json& json) {
    const auto connections = json.find("connections");
    if (connections == json.end()) return {};
    if (!connections->is_array())
      return fail("\"connections\": want a list of [\"STAGE.OUTPUT\", \"STAGE.INPUT\"]");
    for (size_t i = 0; i < connections->size(); ++i) {
      const Json& pair = (*connections)[i];
      const std::string where = fmt::format("connection {}", i);
      if (!pair.is_array() || pair.size() != 2)
        return fail("{}: want [\"STAGE.OUTPUT\", \"STAGE.INPUT\"]", where);
      PortName from = TRY(read_port(pair[0], where));
      file_.connections.emplace_back(std::move(from), TRY(read_port(pair[1], where)));
    }
    return {};
  }

  Status read_inputs(const Json& json) {
    const auto inputs = json.find("inputs");
    if (inputs == json.end()) return {};
    if (!inputs->is_object()) return fail("\"inputs\": want an object of names and lists of \"STAGE.INPUT\"");
    for (const auto& [name, readers] : inputs->items()) {
      if (!readers.is_array()) return fail("input '{}': want a list of \"STAGE.INPUT\"", name);
      for (const Json& reader : readers)
        file_.connections.emplace_back(PortName{"", name},
                                       TRY(read_port(reader, fmt::format("input '{}'", name))));
    }
    return {};
  }

  Status read_outputs(const Json& json) {
    const auto outputs = json.find("outputs");
    if (outputs == json.end()) return {};
    if (!outputs->is_object()) return fail("\"outputs\": want an object of names and \"STAGE.OUTPUT\"");
    for (const auto& [name, maker] : outputs->items())
      file_.connections.emplace_back(TRY(read_port(maker, fmt::format("output '{}'", name))),
                                     PortName{"", name});
    return {};
  }

  PipelineFile file_;
};

}  // namespace

Result<PipelineFile> parse_pipeline_file(std::string_view json) {
  return PipelineFileReader().read(TRY(parse_json(json)));
}

}  // namespace intarsia
