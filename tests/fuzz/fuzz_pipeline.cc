// Arbitrary bytes as a pipeline's file: what parses becomes routes of frames that fit its stages, or an
// error.
//
// Covers: src/pipeline/ pipeline_file.cc pipeline_graph.cc src/base/ json_values.cc
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "pipeline/pipeline_file.h"

namespace {

using namespace intarsia;

/// Stands in for a program; it has the ports that the connections name.
class NamedPorts final : public Stage {
 public:
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  Status run(uint64_t, std::span<const NamedTensor>, std::span<NamedTensor>) override { return {}; }

  void add_input(const std::string& port) { add(inputs_, port); }
  void add_output(const std::string& port) { add(outputs_, port); }

 private:
  static void add(std::vector<StagePort>& ports, const std::string& name) {
    if (std::ranges::find(ports, name, &StagePort::name) == ports.end())
      ports.push_back({name, DType::undefined, std::nullopt});
  }
  std::vector<StagePort> inputs_, outputs_;
};

PipelineGraph make_graph(const PipelineFile& file) {
  PipelineGraph graph;
  for (const PipelineFile::Stage& stage : file.stages) {
    if (stage.name.empty()) continue;  // the name would come from its program
    auto ports = std::make_unique<NamedPorts>();
    for (const auto& [from, to] : file.connections) {
      if (from.stage == stage.name) ports->add_output(from.port);
      if (to.stage == stage.name) ports->add_input(to.port);
    }
    for (const std::string& output : stage.options.scatter) ports->add_output(output);
    graph.stages.push_back({stage.name, {}, stage.options});
    graph.stages.back().replicas.push_back(std::move(ports));
  }
  graph.connections = file.connections;
  graph.connect_by_name();
  return graph;
}

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = parse_pipeline_file({reinterpret_cast<const char*>(data), size});
  if (!file) {
    check(!file.error().message.empty());
    return 0;
  }
  const PipelineOptions& options = file->options;
  check(options.depth > 0 && options.timeout_ns >= 0 && options.deadline_ns >= 0 && !file->stages.empty());
  if (file->stages.size() * file->connections.size() > 100'000) return 0;  // would only be slow
  const PipelineGraph graph = make_graph(*file);
  const auto routes = find_routes(graph);
  if (!routes) return 0;
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = *graph.stages[s].replicas[0];
    check(routes->stages[s].inputs.size() == stage.inputs().size());
    check(routes->stages[s].outputs.size() == stage.outputs().size());
    for (const uint32_t value : routes->stages[s].inputs) {
      check(value < routes->ports.size());
      const uint32_t source = routes->items_of[value];  // has an item for each of the stage's runs
      check(routes->stages[s].gathers || source == PipelineRoutes::none ||
            source == routes->stages[s].items_of);
    }
    check(routes->stages[s].scatters.size() == stage.outputs().size());
  }
  return 0;
}
