#include "compile/split_model.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files/output_file.h"
#include "onnx/write_onnx_model.h"
#include "plan/partition/boundary_layouts.h"
#include "plan/partition/partition_graph.h"
#include "plan/stages/cut_graph.h"

namespace intarsia {
namespace {

using Json = nlohmann::ordered_json;

/// Makes one region per stage.
Partition partition_by_stage(const Graph& graph, const std::vector<uint32_t>& stage_of) {
  std::vector<Region> regions;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (stage_of[i] >= regions.size()) regions.resize(stage_of[i] + 1);
    regions[stage_of[i]].nodes.push_back(NodeId{i});
  }
  return number_regions(graph, std::move(regions));
}

std::string name_of(size_t stage) { return fmt::format("stage{}", stage); }
std::string port_of(size_t stage, const std::string& value) { return name_of(stage) + "." + value; }

/// Returns the JSON file of a pipeline (docs/pipelines.md).
Json describe_pipeline(const Graph& graph, const Partition& partition) {
  Json stages = Json::array(), connections = Json::array(), inputs = Json::object(), outputs = Json::object();
  for (size_t s = 0; s < partition.regions.size(); ++s) {
    stages.push_back({{"name", name_of(s)}, {"program", name_of(s) + ".so"}});
    for (ValueId input : partition.boundaries[s].inputs) {
      const Value& value = graph.value(input);
      if (value.producer == no_node)
        inputs[value.name].push_back(port_of(s, value.name));
      else
        connections.push_back(
            {port_of(partition.region_of[index(value.producer)], value.name), port_of(s, value.name)});
    }
  }
  for (ValueId output : graph.outputs) {
    const Value& value = graph.value(output);
    if (value.producer != no_node)
      outputs[value.name] = port_of(partition.region_of[index(value.producer)], value.name);
  }
  return {{"intarsia_pipeline", 1},
          {"stages", stages},
          {"connections", connections},
          {"inputs", inputs},
          {"outputs", outputs}};
}

/// Checks that stages compute all outputs, since a pipeline returns only such values.
Status check_outputs(const Graph& graph) {
  for (ValueId output : graph.outputs) {
    if (graph.value(output).producer == no_node)
      return fail("output '{}' is an input or a constant, so no stage computes it", graph.value(output).name);
  }
  return {};
}

}  // namespace

Result<Json> split_model(const Graph& graph, const std::vector<std::string>& cuts,
                         const std::string& folder) {
  TRY(check_outputs(graph));
  const Partition partition = partition_by_stage(graph, TRY(cut_graph(graph, cuts)));
  std::vector<OnnxModel> models;
  for (size_t s = 0; s < partition.regions.size(); ++s) {
    Graph stage = extract_region(graph, partition, s);
    stage.name = name_of(s);
    models.push_back(TRY(with_context(write_onnx_model(stage, LargeConstants::within), "{}", name_of(s))));
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("the folder '{}' cannot be made: {}", folder, error.message());
  const std::filesystem::path to(folder);
  Json report{{"folder", folder}, {"pipeline", (to / "pipeline.json").string()}, {"stages", Json::array()}};
  for (size_t s = 0; s < models.size(); ++s) {
    const std::filesystem::path path = to / (name_of(s) + ".onnx");
    TRY(write_whole(path.string(), models[s].bytes));
    Json stage{{"model", path.string()}, {"nodes", partition.regions[s].nodes.size()}};
    for (const auto& [key, values] : {std::pair("inputs", &partition.boundaries[s].inputs),
                                      std::pair("outputs", &partition.boundaries[s].outputs)}) {
      stage[key] = Json::array();
      for (ValueId id : *values) stage[key].push_back(graph.value(id).name);
    }
    report["stages"].push_back(std::move(stage));
  }
  TRY(write_whole((to / "pipeline.json").string(), describe_pipeline(graph, partition).dump(2) + "\n"));
  return report;
}

}  // namespace intarsia
