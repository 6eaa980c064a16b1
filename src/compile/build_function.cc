#include "compile/build_function.h"

#include <algorithm>
#include <map>

#include "compile/assign_arenas.h"
#include "compile/compile_bodies.h"
#include "compile/size_table.h"
#include "passes/index_limits.h"
#include "plan/stages/stage_steps.h"

namespace intarsia {
namespace {

/// Inputs and outputs that callers see, and the steps between them.
struct FunctionBody {
  const std::string& name;
  const std::vector<ValueId>& inputs;
  const std::vector<ValueId>& outputs;
  const StepList& steps;
  bool is_whole = true;  // whether it is not a stage, whose inputs need not tell what is open
};

class FunctionBuilder {
 public:
  FunctionBuilder(const FunctionParts& parts, const FunctionBody& body, uint32_t first_region,
                  uint32_t first_constant)
      : parts_(parts),
        body_(body),
        graph_(parts.problem.graph),
        first_region_(first_region),
        first_constant_(first_constant) {}

  BuiltFunction build() {
    function_.name = body_.name;
    if (body_.is_whole) sizes_.emplace(graph_, function_);
    add_inputs();
    mark_outputs();
    for (const Step& step : body_.steps) add_step(step);
    for (ValueId output : body_.outputs) add_output(output);
    if (body_.is_whole) mark_continued();
    list_predecessors();
    return BuiltFunction{std::move(function_), std::move(constants_), std::move(flows_)};
  }

 private:
  void add_inputs() {
    const std::vector<int64_t> limits = index_limits(graph_);
    for (ValueId input : body_.inputs) {
      const uint32_t number = add_value({input, host_memory}, fbs::Storage::input);
      function_.values[number]->index_limit = static_cast<uint64_t>(limits[index(input)]);
      if (const auto shape = graph_.planned_shape(input); shape && !graph_.value(input).type.fixed_shape())
        function_.values[number]->tuned_dims = *shape;
      function_.inputs.push_back(number);
    }
  }

  /// Checks whether the output is a constant or an input, which reaches the caller by a copy step at the end.
  bool needs_own_output(ValueId output) const {
    const Value& value = graph_.value(output);
    return value.constant || value.producer == no_node;
  }

  void mark_outputs() {
    for (ValueId output : body_.outputs) {
      if (!needs_own_output(output)) is_output_[output] = true;
    }
  }

  /// Checks whether the bytes of a value follow from the open sizes of the inputs.
  bool is_told(const Value& value) const {
    return sizes_ && !value.type.opaque && value.type.dtype != DType::string && sizes_->are_told(value.type);
  }

  uint32_t append(const Value& value, uint32_t space, fbs::Storage storage) {
    auto entry = std::make_unique<fbs::ValueT>();
    entry->name = value.name;
    entry->dtype = value.type.opaque ? 0 : static_cast<uint8_t>(value.type.dtype);
    entry->encoded_type.assign(value.type.encoded.begin(), value.type.encoded.end());
    entry->rank_unknown = !value.type.shape;
    if (value.type.shape) {
      for (const Dim& dim : *value.type.shape) entry->dims.push_back(dim.is_number() ? dim.number() : -1);
    }
    if (sizes_) sizes_->describe(value.type, *entry);
    entry->space = space;
    entry->storage = storage;
    function_.values.push_back(std::move(entry));
    return static_cast<uint32_t>(function_.values.size() - 1);
  }

  /// Stores the dims in the memory order of the axes.
  void set_layout(fbs::ValueT& entry, const AxisOrder& order) {
    const std::vector<int64_t> dims = entry.dims;
    for (size_t i = 0; i < order.size(); ++i) entry.dims[i] = dims[order[i]];
    entry.axes.assign(order.begin(), order.end());
  }

  uint32_t add_value(const PlacedValue& placed, fbs::Storage storage) {
    const uint32_t number = append(graph_.value(placed.value), placed.space, storage);
    const auto& layouts = parts_.plan.partition.layouts;
    if (const auto layout = layouts.find(placed.value); layout != layouts.end())
      set_layout(*function_.values[number], layout->second);
    numbers_[placed] = number;
    return number;
  }

  /// Adds a value that a step makes and returns its number. `is_adopted`: the step brings the memory along.
  uint32_t make(const PlacedValue& placed, bool is_adopted) {
    const Value& value = graph_.value(placed.value);
    const bool is_fixed = value.type.fixed_bytes().has_value();
    if (is_adopted || (!is_fixed && !is_told(value))) return add_value(placed, fbs::Storage::dynamic);
    const bool to_caller = placed.space == host_memory && is_output_.contains(placed.value);
    if (to_caller) return add_value(placed, fbs::Storage::output);
    return add_value(placed, is_fixed ? fbs::Storage::arena : fbs::Storage::bound);
  }

  void add_step(const Step& step) {
    if (step.kind == Step::Kind::run && has_flows(step.region)) {
      for (NodeId node : parts_.plan.partition.regions[step.region].nodes) add_flow(node, step.region);
      return;
    }
    auto entry = std::make_unique<fbs::StepT>();
    if (step.kind == Step::Kind::copy) {
      entry->kind = fbs::StepKind::copy;
      entry->inputs = {numbers_.at(step.from)};
      entry->outputs = {make(step.to, false)};
    } else {
      entry->region = first_region_ + step.region;
      const PlanningProblem& problem = parts_.problem;
      const uint32_t target = parts_.plan.partition.regions[step.region].target;
      const uint32_t memory = problem.space_of_target[target];
      const bool is_adopted = memory == host_memory && problem.targets[target].backend->info().makes_outputs;
      const Boundary& boundary = parts_.plan.partition.boundaries[step.region];
      for (ValueId input : boundary.inputs) entry->inputs.push_back(numbers_.at({input, memory}));
      for (ValueId output : boundary.outputs) entry->outputs.push_back(make({output, memory}, is_adopted));
    }
    function_.steps.push_back(std::move(entry));
  }

  /// Checks whether steps of their own run the nodes of a region. Where memory is estimated, bodies are
  /// unknown.
  bool has_flows(uint32_t region) const {
    return parts_.regions.flows.contains(parts_.plan.partition.regions[region].nodes.front());
  }

  /// Adds the step of a branch or a loop, without its bodies.
  void add_flow(NodeId node, uint32_t region) {
    const CompiledControlFlow& compiled = *parts_.regions.flows.at(node);
    const ControlFlow& flow = compiled.flow;
    auto entry = std::make_unique<fbs::StepT>();
    entry->kind = flow.is_loop ? fbs::StepKind::loop : fbs::StepKind::branch;
    entry->region = first_region_ + region;
    entry->has_trip_count = flow.has_trip_count;
    entry->has_condition = flow.has_condition;
    entry->checks_condition = flow.checks_condition;
    entry->carried = flow.carried;
    entry->scanned = flow.scanned;
    for (ValueId input : flow.inputs) {
      const bool is_constant = graph_.value(input).constant.has_value();
      entry->inputs.push_back(is_constant ? add_constant(input) : numbers_.at({input, host_memory}));
    }
    for (ValueId output : graph_.node(node).outputs)
      entry->outputs.push_back(make({output, host_memory}, false));
    flows_[entry->outputs[0]] = &compiled;
    function_.steps.push_back(std::move(entry));
  }

  void add_output(ValueId output) {
    if (!needs_own_output(output)) {
      function_.outputs.push_back(numbers_.at({output, host_memory}));
      return;
    }
    const Value& value = graph_.value(output);
    auto step = std::make_unique<fbs::StepT>();
    step->kind = fbs::StepKind::copy;
    step->inputs = {value.constant ? add_constant(output) : numbers_.at({output, host_memory})};
    const bool is_known = value.type.fixed_bytes() || is_told(value);
    step->outputs = {append(value, host_memory, is_known ? fbs::Storage::output : fbs::Storage::dynamic)};
    function_.outputs.push_back(step->outputs[0]);
    function_.steps.push_back(std::move(step));
  }

  /// Marks the outputs that begin with an input: Concat(past, new).
  void mark_continued() {
    for (size_t i = 0; i < body_.outputs.size(); ++i) {
      const Value& value = graph_.value(body_.outputs[i]);
      if (value.producer == no_node || value.constant || value.type.opaque || !value.type.shape) continue;
      const Node& node = graph_.node(value.producer);
      const bool is_concat = node.op == "Concat" && node.domain.empty() && node.attributes.has("axis");
      if (!is_concat || value.type.dtype == DType::string) continue;
      const auto input = std::ranges::find(body_.inputs, node.inputs[0]);
      const auto& shape = graph_.value(node.inputs[0]).type.shape;
      if (input == body_.inputs.end() || !shape || shape->size() != value.type.shape->size()) continue;
      const auto rank = static_cast<int64_t>(shape->size());
      const int64_t axis = node.attributes.get_int("axis", 0);
      fbs::ValueT& entry = *function_.values[function_.outputs[i]];
      entry.continues = static_cast<uint32_t>(input - body_.inputs.begin()) + 1;
      entry.continued_axis = static_cast<uint8_t>(axis < 0 ? axis + rank : axis);
    }
  }

  uint32_t add_constant(ValueId id) {
    const uint32_t number = append(graph_.value(id), host_memory, fbs::Storage::constant);
    function_.values[number]->constant = first_constant_ + static_cast<uint32_t>(constants_.size());
    constants_.push_back(id);
    return number;
  }

  /// Lists, for each step, the steps that make its inputs.
  void list_predecessors() {
    std::vector<int> producer(function_.values.size(), -1);
    for (size_t s = 0; s < function_.steps.size(); ++s) {
      fbs::StepT& step = *function_.steps[s];
      for (uint32_t input : step.inputs) {
        if (producer[input] >= 0) step.after.push_back(static_cast<uint32_t>(producer[input]));
      }
      std::ranges::sort(step.after);
      step.after.erase(std::ranges::unique(step.after).begin(), step.after.end());
      for (uint32_t output : step.outputs) producer[output] = static_cast<int>(s);
    }
  }

  const FunctionParts& parts_;
  const FunctionBody& body_;
  const Graph& graph_;
  const uint32_t first_region_, first_constant_;
  fbs::FunctionT function_;
  std::vector<ValueId> constants_;
  std::map<uint32_t, const CompiledControlFlow*> flows_;
  std::optional<SizeTable> sizes_;
  std::map<PlacedValue, uint32_t> numbers_;
  std::map<ValueId, bool> is_output_;
};

Result<BuiltFunction> build_body(const FunctionParts& parts, const FunctionBody& body, uint32_t first_region,
                                 uint32_t first_constant) {
  BuiltFunction built = FunctionBuilder(parts, body, first_region, first_constant).build();
  TRY(assign_arenas(parts, first_region, built.function));
  return built;
}

}  // namespace

Result<BuiltFunction> build_function(const FunctionParts& parts, uint32_t first_region,
                                     uint32_t first_constant) {
  const Graph& graph = parts.problem.graph;
  const FunctionBody body{parts.name, graph.inputs, graph.outputs, parts.plan.steps};
  return build_body(parts, body, first_region, first_constant);
}

Result<BuiltFunction> build_stage(const FunctionParts& parts, size_t stage, uint32_t first_region,
                                  uint32_t first_constant) {
  const std::vector<StageSteps> stages =
      list_stages(parts.problem.graph, parts.plan.partition, parts.problem.space_of_target);
  const std::string name = fmt::format("stage{}", stage);
  const StageSteps& one = stages.at(stage);
  return build_body(parts, {name, one.inputs, one.outputs, one.steps, false}, first_region, first_constant);
}

}  // namespace intarsia
