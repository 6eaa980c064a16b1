#include "pipeline/pipeline_graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace intarsia {
namespace {

using NamedStage = PipelineGraph::NamedStage;

constexpr uint32_t none = PipelineRoutes::none;

std::string text_of(const PortName& name) {
  return name.stage.empty() ? name.port : fmt::format("{}.{}", name.stage, name.port);
}

std::span<const StagePort> inputs_of(const NamedStage& stage) { return stage.replicas.front()->inputs(); }
std::span<const StagePort> outputs_of(const NamedStage& stage) { return stage.replicas.front()->outputs(); }

/// Finds the number of the port; the error lists the ports of that kind.
Result<uint32_t> find_port(std::span<const StagePort> ports, const PortName& name, std::string_view what) {
  const auto port = std::ranges::find(ports, name.port, &StagePort::name);
  if (port != ports.end()) return static_cast<uint32_t>(port - ports.begin());
  std::vector<std::string> known;
  for (const StagePort& other : ports) known.push_back(other.name);
  return fail("stage '{}' has no {} '{}'; it has {}", name.stage, what, name.port,
              known.empty() ? "none" : fmt::format("'{}'", fmt::join(known, "', '")));
}

bool are_sizes_equal(const Shape& from, const Shape& to) {
  return std::ranges::equal(from, to, [](int64_t a, int64_t b) { return a == b || a < 0 || b < 0; });
}

std::string print_type(const StagePort& port) {
  return fmt::format("{} {}", dtype_name(port.dtype), port.shape ? print_shape(*port.shape) : "of any shape");
}

Status check_types(const StagePort& from, const StagePort& to, const std::string& connection) {
  const bool is_dtype_known = from.dtype != DType::undefined && to.dtype != DType::undefined;
  const bool is_shape_known = from.shape && to.shape;
  if (is_dtype_known && from.dtype != to.dtype)
    return fail("connection {}: it gives {}, but wants {}", connection, print_type(from), print_type(to));
  if (is_shape_known && !are_sizes_equal(*from.shape, *to.shape))
    return fail("connection {}: it gives {}, but wants {}", connection, print_type(from), print_type(to));
  return {};
}

Status check_alike(std::span<const StagePort> first, std::span<const StagePort> other, const char* what) {
  for (size_t i = 0; i < first.size() && i < other.size(); ++i)
    if (first[i] != other[i])
      return fail("{} '{}' is {}, want '{}', {}", what, other[i].name, print_type(other[i]), first[i].name,
                  print_type(first[i]));
  if (first.size() == other.size()) return {};
  return fail("it has {} {}s, want {}", other.size(), what, first.size());
}

Status check_replicas(const NamedStage& stage) {
  for (size_t i = 1; i < stage.replicas.size(); ++i) {
    const auto check = [&]() -> Status {
      TRY(check_alike(inputs_of(stage), stage.replicas[i]->inputs(), "input"));
      return check_alike(outputs_of(stage), stage.replicas[i]->outputs(), "output");
    };
    TRY(with_context(check(), "stage '{}', replica {}", stage.name, i));
  }
  return {};
}

/// Checks names and ports; returns the numbers of the stages, by name.
Result<std::map<std::string, uint32_t>> number_stages(const PipelineGraph& graph) {
  std::map<std::string, uint32_t> numbers;
  if (graph.stages.empty()) return fail("the pipeline has no stage; add one before it starts");
  for (const NamedStage& stage : graph.stages) {
    if (stage.name.empty()) return fail("a stage has an empty name");
    if (!numbers.emplace(stage.name, static_cast<uint32_t>(numbers.size())).second)
      return fail("two stages are named '{}'", stage.name);
    TRY(check_replicas(stage));
    for (const auto ports : {inputs_of(stage), outputs_of(stage)}) {
      std::set<std::string_view> names;
      for (const StagePort& port : ports)
        if (!names.insert(port.name).second)
          return fail("stage '{}' has two ports named '{}' on one side", stage.name, port.name);
    }
  }
  return numbers;
}

/// Returns the type of the value, with all its items together if it has some.
StagePort all_of(const PipelineRoutes& routes, uint32_t value) {
  return routes.items_of[value] == none ? routes.ports[value] : gathered(routes.ports[value]);
}

Status check_all_connected(const PipelineGraph& graph, const PipelineRoutes& routes) {
  for (size_t s = 0; s < routes.stages.size(); ++s) {
    const std::vector<uint32_t>& inputs = routes.stages[s].inputs;
    const auto open = std::ranges::find(inputs, none);
    if (open == inputs.end()) continue;
    const NamedStage& stage = graph.stages[s];
    return fail(
        "input '{}' of stage '{}' is not connected; connect it to a stage's output or to an input "
        "of the pipeline",
        inputs_of(stage)[size_t(open - inputs.begin())].name, stage.name);
  }
  return {};
}

/// Fills in which stages read what others make; `makers` are stages, by value.
void link_stages(const std::vector<uint32_t>& makers, PipelineRoutes& routes) {
  for (uint32_t s = 0; s < routes.stages.size(); ++s) {
    const std::set<uint32_t> values(routes.stages[s].inputs.begin(), routes.stages[s].inputs.end());
    routes.stages[s].reads.assign(values.begin(), values.end());
    std::set<uint32_t> producers;
    for (const uint32_t value : values) {
      ++routes.readers[value];
      if (makers[value] != none) producers.insert(makers[value]);
    }
    for (const uint32_t producer : producers) routes.stages[producer].consumers.push_back(s);
    routes.stages[s].producers.assign(producers.begin(), producers.end());
  }
  for (uint32_t s = 0; s < routes.stages.size(); ++s) {
    if (routes.stages[s].producers.empty()) routes.first.push_back(s);
    if (routes.stages[s].consumers.empty()) routes.last.push_back(s);
  }
}

/// Finds whose items the stage runs for, if any; stages that it reads from come first.
Status find_items(const PipelineGraph& graph, uint32_t number, PipelineRoutes& routes) {
  const NamedStage& stage = graph.stages[number];
  PipelineRoutes::StageRoute& route = routes.stages[number];
  route.gathers = stage.options.gathers;
  for (const uint32_t value : route.inputs) {
    const uint32_t source = routes.items_of[value];
    if (source == none || source == route.items_of) continue;
    if (route.items_of != none && !stage.options.gathers)
      return fail(
          "it reads items of stage '{}' and of stage '{}', which need not be as many; gather one of them "
          "before",
          graph.stages[route.items_of].name, graph.stages[source].name);
    route.items_of = source;
  }
  if (stage.options.gathers && route.items_of == none)
    return fail("it gathers, but no input of it is an item of a frame");
  if (stage.options.gathers) route.items_of = none;
  for (const uint32_t value : route.outputs) routes.items_of[value] = route.items_of;
  return {};
}

Status find_scattered(const PipelineGraph& graph, uint32_t number, PipelineRoutes& routes) {
  const NamedStage& stage = graph.stages[number];
  PipelineRoutes::StageRoute& route = routes.stages[number];
  route.scatters.assign(route.outputs.size(), false);
  if (!stage.options.scatter.empty() && route.items_of != none)
    return fail(
        "stage '{}' runs for each item of stage '{}': its outputs cannot be scattered again; gather before",
        stage.name, graph.stages[route.items_of].name);
  for (const std::string& name : stage.options.scatter) {
    const uint32_t output = TRY(find_port(outputs_of(stage), {stage.name, name}, "output"));
    const uint32_t value = route.outputs[output];
    std::optional<Shape>& shape = routes.ports[value].shape;
    if (shape && shape->empty())
      return fail("output '{}' of stage '{}' is a scalar: it has no rows to scatter", name, stage.name);
    if (shape) (*shape)[0] = 1;
    route.scatters[output] = true;
    routes.items_of[value] = number;
  }
  return {};
}

/// Orders the stages by Kahn's algorithm, which removes stages whose producers are gone.
Result<std::vector<uint32_t>> order_stages(const PipelineGraph& graph, const PipelineRoutes& routes) {
  std::vector<size_t> waiting;
  for (const auto& stage : routes.stages) waiting.push_back(stage.producers.size());
  std::vector<uint32_t> ready = routes.first;
  for (size_t i = 0; i < ready.size(); ++i)
    for (const uint32_t next : routes.stages[ready[i]].consumers)
      if (--waiting[next] == 0) ready.push_back(next);
  if (ready.size() == routes.stages.size()) return ready;
  std::vector<std::string> names;
  for (size_t s = 0; s < waiting.size(); ++s)
    if (waiting[s] > 0) names.push_back(graph.stages[s].name);
  return fail("the connections of the stages '{}' form a cycle, or come after one; a frame only goes forward",
              fmt::join(names, "', '"));
}

/// Fills in routes, connection by connection.
class RouteFinder {
 public:
  explicit RouteFinder(const PipelineGraph& graph) : graph_(graph) {}

  Result<PipelineRoutes> find() {
    numbers_ = TRY(number_stages(graph_));
    number_values();
    for (const auto& [from, to] : graph_.connections) TRY(connect(from, to));
    TRY(check_all_connected(graph_, routes_));
    link_stages(makers_, routes_);
    for (const uint32_t stage : TRY(order_stages(graph_, routes_))) {
      TRY(with_context(find_items(graph_, stage, routes_), "stage '{}'", graph_.stages[stage].name));
      TRY(find_scattered(graph_, stage, routes_));
    }
    for (const auto& [from, to] : graph_.connections) TRY(check_connection(from, to));
    for (PipelineRoutes::Output& output : routes_.outputs) output.port = all_of(routes_, output.value);
    return std::move(routes_);
  }

 private:
  /// Numbers the values: inputs of the pipeline first, then the outputs of each stage.
  void number_values() {
    for (const auto& [from, to] : graph_.connections)
      if (from.stage.empty() && std::ranges::find(routes_.inputs, from.port) == routes_.inputs.end())
        routes_.inputs.push_back(from.port);
    routes_.ports.resize(routes_.inputs.size());
    makers_.assign(routes_.inputs.size(), none);
    for (size_t s = 0; s < graph_.stages.size(); ++s) {
      PipelineRoutes::StageRoute& route = routes_.stages.emplace_back();
      route.inputs.assign(inputs_of(graph_.stages[s]).size(), none);
      for (const StagePort& port : outputs_of(graph_.stages[s])) {
        route.outputs.push_back(static_cast<uint32_t>(routes_.ports.size()));
        routes_.ports.push_back(port);
        makers_.push_back(static_cast<uint32_t>(s));
      }
    }
    routes_.items_of.assign(routes_.ports.size(), none);
    routes_.readers.assign(routes_.ports.size(), 0);
    routes_.is_output.assign(routes_.ports.size(), false);
  }

  Result<uint32_t> find_stage(const PortName& name) const {
    const auto stage = numbers_.find(name.stage);
    if (stage == numbers_.end())
      return fail("connection of '{}': there is no stage '{}'", text_of(name), name.stage);
    return stage->second;
  }

  Result<uint32_t> find_value(const PortName& from) const {
    if (from.stage.empty())
      return static_cast<uint32_t>(std::ranges::find(routes_.inputs, from.port) - routes_.inputs.begin());
    const uint32_t stage = TRY(find_stage(from));
    const auto port = find_port(outputs_of(graph_.stages[stage]), from, "output");
    return routes_.stages[stage].outputs[TRY(with_context(port, "connection of '{}'", text_of(from)))];
  }

  Status connect(const PortName& from, const PortName& to) {
    const uint32_t value = TRY(find_value(from));
    if (to.stage.empty()) {
      if (std::ranges::find(routes_.outputs, to.port, &PipelineRoutes::Output::name) != routes_.outputs.end())
        return fail("output '{}' of the pipeline is connected twice", to.port);
      routes_.outputs.push_back({.name = to.port, .value = value});
      routes_.is_output[value] = true;
      return {};
    }
    const uint32_t stage = TRY(find_stage(to));
    const auto ports = inputs_of(graph_.stages[stage]);
    const uint32_t port = TRY(with_context(find_port(ports, to, "input"), "connection of '{}'", text_of(to)));
    uint32_t& input = routes_.stages[stage].inputs[port];
    if (input != none) return fail("input '{}' of stage '{}' is connected twice", to.port, to.stage);
    input = value;
    // The first reader determines the type of an input of the pipeline.
    if (makers_[value] == none && routes_.ports[value].name.empty()) routes_.ports[value] = ports[port];
    return {};
  }

  /// Checks the types of a connection, once it is known which values are items.
  Status check_connection(const PortName& from, const PortName& to) const {
    if (to.stage.empty()) return {};
    const uint32_t value = TRY(find_value(from)), stage = TRY(find_stage(to));
    const auto ports = inputs_of(graph_.stages[stage]);
    const StagePort& port = ports[TRY(find_port(ports, to, "input"))];
    return check_types(routes_.stages[stage].gathers ? all_of(routes_, value) : routes_.ports[value], port,
                       fmt::format("'{}' -> '{}'", text_of(from), text_of(to)));
  }

  const PipelineGraph& graph_;
  std::map<std::string, uint32_t> numbers_;  // numbers of stages, by name
  std::vector<uint32_t> makers_;             // stage that makes it, by value; none: an input of the pipeline
  PipelineRoutes routes_;
};

}  // namespace

void PipelineGraph::connect_by_name() {
  std::set<std::pair<std::string, std::string>> read, fed;
  for (const auto& [from, to] : connections) {
    read.emplace(from.stage, from.port);
    fed.emplace(to.stage, to.port);
  }
  std::map<std::string, std::string> makers;  // last stage so far with an output of the name
  for (const NamedStage& stage : stages) {
    for (const StagePort& port : inputs_of(stage)) {
      if (fed.contains({stage.name, port.name})) continue;
      const auto maker = makers.find(port.name);
      const PortName from{maker == makers.end() ? "" : maker->second, port.name};
      connections.push_back({from, {stage.name, port.name}});
      read.emplace(from.stage, from.port);
    }
    for (const StagePort& port : outputs_of(stage)) makers[port.name] = stage.name;
  }
  for (const NamedStage& stage : stages)
    for (const StagePort& port : outputs_of(stage))
      if (!read.contains({stage.name, port.name}) && fed.emplace("", port.name).second)
        connections.push_back({{stage.name, port.name}, {"", port.name}});
}

StagePort gathered(StagePort item) {
  if (item.shape && !item.shape->empty()) item.shape->front() = -1;
  return item;
}

Result<PipelineRoutes> find_routes(const PipelineGraph& graph) { return RouteFinder(graph).find(); }

}  // namespace intarsia
