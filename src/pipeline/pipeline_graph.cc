#include "pipeline/pipeline_graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace intarsia {
namespace {

using NamedStage = PipelineGraph::NamedStage;

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

/// Fills in routes, connection by connection.
class RouteFinder {
 public:
  explicit RouteFinder(const PipelineGraph& graph) : graph_(graph) {}

  Result<PipelineRoutes> find() {
    TRY(check_stages());
    number_values();
    for (const auto& [from, to] : graph_.connections) TRY(connect(from, to));
    TRY(check_all_connected());
    link_stages();
    for (const uint32_t stage : TRY(order_stages())) {
      TRY(with_context(find_items(stage), "stage '{}'", name_of(stage)));
      TRY(find_scattered(stage));
    }
    for (const auto& [from, to] : graph_.connections) TRY(check_connection(from, to));
    for (PipelineRoutes::Output& output : routes_.outputs) output.port = all_of(output.value);
    return std::move(routes_);
  }

 private:
  static constexpr uint32_t none = PipelineRoutes::none;

  Status check_stages() {
    if (graph_.stages.empty()) return fail("the pipeline has no stage; add one before it starts");
    for (const NamedStage& stage : graph_.stages) {
      if (stage.name.empty()) return fail("a stage has an empty name");
      if (!numbers_.emplace(stage.name, static_cast<uint32_t>(numbers_.size())).second)
        return fail("two stages are named '{}'", stage.name);
      TRY(check_replicas(stage));
      for (const auto ports : {inputs_of(stage), outputs_of(stage)}) {
        std::set<std::string_view> names;
        for (const StagePort& port : ports)
          if (!names.insert(port.name).second)
            return fail("stage '{}' has two ports named '{}' on one side", stage.name, port.name);
      }
    }
    return {};
  }

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

  /// Returns the type of the value, with all its items together if it has some.
  StagePort all_of(uint32_t value) const {
    return routes_.items_of[value] == none ? routes_.ports[value] : gathered(routes_.ports[value]);
  }

  /// Checks the types of a connection, once it is known which values are items.
  Status check_connection(const PortName& from, const PortName& to) const {
    if (to.stage.empty()) return {};
    const uint32_t value = TRY(find_value(from)), stage = TRY(find_stage(to));
    const auto ports = inputs_of(graph_.stages[stage]);
    const StagePort& port = ports[TRY(find_port(ports, to, "input"))];
    return check_types(routes_.stages[stage].gathers ? all_of(value) : routes_.ports[value], port,
                       fmt::format("'{}' -> '{}'", text_of(from), text_of(to)));
  }

  Status check_all_connected() const {
    for (size_t s = 0; s < routes_.stages.size(); ++s) {
      const std::vector<uint32_t>& inputs = routes_.stages[s].inputs;
      const auto open = std::ranges::find(inputs, none);
      if (open == inputs.end()) continue;
      const NamedStage& stage = graph_.stages[s];
      return fail(
          "input '{}' of stage '{}' is not connected; connect it to a stage's output or to an input "
          "of the pipeline",
          inputs_of(stage)[size_t(open - inputs.begin())].name, stage.name);
    }
    return {};
  }

  void link_stages() {
    for (uint32_t s = 0; s < routes_.stages.size(); ++s) {
      const std::set<uint32_t> values(routes_.stages[s].inputs.begin(), routes_.stages[s].inputs.end());
      routes_.stages[s].reads.assign(values.begin(), values.end());
      std::set<uint32_t> producers;
      for (const uint32_t value : values) {
        ++routes_.readers[value];
        if (makers_[value] != none) producers.insert(makers_[value]);
      }
      for (const uint32_t producer : producers) routes_.stages[producer].consumers.push_back(s);
      routes_.stages[s].producers.assign(producers.begin(), producers.end());
    }
    for (uint32_t s = 0; s < routes_.stages.size(); ++s) {
      if (routes_.stages[s].producers.empty()) routes_.first.push_back(s);
      if (routes_.stages[s].consumers.empty()) routes_.last.push_back(s);
    }
  }

  const std::string& name_of(uint32_t stage) const { return graph_.stages[stage].name; }

  /// Finds whose items the stage runs for, if any; stages that it reads from come first.
  Status find_items(uint32_t number) {
    const NamedStage& stage = graph_.stages[number];
    PipelineRoutes::StageRoute& route = routes_.stages[number];
    route.gathers = stage.options.gathers;
    for (const uint32_t value : route.inputs) {
      const uint32_t source = routes_.items_of[value];
      if (source == none || source == route.items_of) continue;
      if (route.items_of != none && !stage.options.gathers)
        return fail(
            "it reads items of stage '{}' and of stage '{}', which need not be as many; gather one of them "
            "before",
            name_of(route.items_of), name_of(source));
      route.items_of = source;
    }
    if (stage.options.gathers && route.items_of == none)
      return fail("it gathers, but no input of it is an item of a frame");
    if (stage.options.gathers) route.items_of = none;
    for (const uint32_t value : route.outputs) routes_.items_of[value] = route.items_of;
    return {};
  }

  Status find_scattered(uint32_t number) {
    const NamedStage& stage = graph_.stages[number];
    PipelineRoutes::StageRoute& route = routes_.stages[number];
    route.scatters.assign(route.outputs.size(), false);
    if (!stage.options.scatter.empty() && route.items_of != none)
      return fail(
          "stage '{}' runs for each item of stage '{}': its outputs cannot be scattered again; gather before",
          stage.name, name_of(route.items_of));
    for (const std::string& name : stage.options.scatter) {
      const uint32_t output = TRY(find_port(outputs_of(stage), {stage.name, name}, "output"));
      const uint32_t value = route.outputs[output];
      std::optional<Shape>& shape = routes_.ports[value].shape;
      if (shape && shape->empty())
        return fail("output '{}' of stage '{}' is a scalar: it has no rows to scatter", name, stage.name);
      if (shape) (*shape)[0] = 1;
      route.scatters[output] = true;
      routes_.items_of[value] = number;
    }
    return {};
  }

  /// Orders the stages by Kahn's algorithm, which removes stages whose producers are gone.
  Result<std::vector<uint32_t>> order_stages() const {
    std::vector<size_t> waiting;
    for (const auto& stage : routes_.stages) waiting.push_back(stage.producers.size());
    std::vector<uint32_t> ready = routes_.first;
    for (size_t i = 0; i < ready.size(); ++i)
      for (const uint32_t next : routes_.stages[ready[i]].consumers)
        if (--waiting[next] == 0) ready.push_back(next);
    if (ready.size() == routes_.stages.size()) return ready;
    std::vector<std::string> names;
    for (size_t s = 0; s < waiting.size(); ++s)
      if (waiting[s] > 0) names.push_back(graph_.stages[s].name);
    return fail(
        "the connections of the stages '{}' form a cycle, or come after one; a frame only goes forward",
        fmt::join(names, "', '"));
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
