// Explanation of a program, from its description.
#include <algorithm>
#include <set>

#include "base/add_once.h"
#include "compile/program_memory.h"
#include "program/open_sizes.h"
#include "program/print_program.h"
#include "report/explanation.h"

namespace intarsia {
namespace {

std::optional<uint64_t> value_bytes(const fbs::ValueT& value) {
  const auto dtype = static_cast<DType>(value.dtype);
  const bool known =
      !value.rank_unknown && std::ranges::all_of(value.dims, [](int64_t size) { return size >= 0; });
  if (!known || dtype == DType::undefined || dtype == DType::string) return std::nullopt;
  return dtype_bytes(dtype, static_cast<size_t>(element_count(value.dims)));
}

ExplainedPort explain_port(const fbs::FunctionT& function, const fbs::ValueT& value) {
  ExplainedPort port{
      value.name, value.dtype == 0 ? "opaque" : std::string(dtype_name(static_cast<DType>(value.dtype))), {}};
  if (value.rank_unknown) return port;
  port.shape.emplace();
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    const std::string& text = text_of_size(function, value, axis);
    port.shape->push_back(value.dims[axis] >= 0 ? Dim(value.dims[axis])
                          : text.empty()        ? Dim::unknown()
                                                : Dim::named(text));
  }
  return port;
}

OpenSize explain_symbol(const fbs::SymbolT& symbol) {
  const SizeRange range{static_cast<int64_t>(symbol.min), static_cast<int64_t>(symbol.max)};
  return {symbol.name, range, {symbol.tuned.begin(), symbol.tuned.end()}};
}

/// Converts a stored time; 0 means unknown.
std::optional<int64_t> time_or_none(uint64_t nanoseconds) {
  return nanoseconds == 0 ? std::nullopt : std::optional(static_cast<int64_t>(nanoseconds));
}

/// Follows values through the steps of one function.
class FlowFinder {
 public:
  FlowFinder(const fbs::ProgramT& program, const fbs::FunctionT& function, Explanation& explanation)
      : program_(program), function_(function), explanation_(explanation), source_(function.values.size()) {
    for (size_t i = 0; i < source_.size(); ++i) source_[i] = {static_cast<uint32_t>(i), -1};
  }

  void find() {
    for (const auto& step : function_.steps) {
      if (step->kind == fbs::StepKind::copy) {
        follow_copy(step->inputs[0], step->outputs[0]);
        continue;
      }
      const int region = static_cast<int>(step->region);
      for (uint32_t input : step->inputs) add_flow(input, region);
      for (uint32_t output : step->outputs) {
        source_[output] = {output, region};
        explanation_.regions[step->region].outputs.push_back(
            explain_port(function_, *function_.values[output]));
      }
    }
    for (uint32_t output : function_.outputs) add_flow(output, -1);
  }

 private:
  /// Original of a value before any copy, and the region that made it (-1 for an input).
  struct Source {
    uint32_t value = 0;
    int region = -1;
  };

  void follow_copy(uint32_t from, uint32_t to) {
    source_[to] = source_[from];
    const fbs::ValueT& value = *function_.values[from];
    const uint32_t to_space = function_.values[to]->space;
    if (value.space == to_space) return;  // an input or constant that is also an output, in host memory
    explanation_.copies.push_back({value.name, program_.spaces[value.space]->name,
                                   program_.spaces[to_space]->name, value_bytes(value)});
  }

  void add_flow(uint32_t id, int to_region) {
    const fbs::ValueT& made = *function_.values[source_[id].value];
    if (made.storage == fbs::Storage::constant) return;
    ExplainedFlow flow;
    flow.value = made.name;
    flow.from_region = source_[id].region;
    flow.to_region = to_region;
    flow.copied = made.space != function_.values[id]->space;
    flow.bytes = value_bytes(made);
    explanation_.flows.push_back(std::move(flow));
  }

  const fbs::ProgramT& program_;
  const fbs::FunctionT& function_;
  Explanation& explanation_;
  std::vector<Source> source_;  // indexed by value
};

}  // namespace

namespace {

/// Counts the regions of the functions themselves, which come before those of their other plans.
size_t count_preferred_regions(const fbs::ProgramT& program) {
  uint32_t first_of_others = static_cast<uint32_t>(program.regions.size());
  const auto find_first = [&](const fbs::FunctionT& function) {
    for (const auto& step : function.steps)
      if (step->kind != fbs::StepKind::copy) first_of_others = std::min(first_of_others, step->region);
  };
  for (const auto& function : program.functions) {
    for (const auto& alternative : function->alternatives) find_first(*alternative);
    for (const auto& specialization : function->specializations) find_first(*specialization);
  }
  return first_of_others;
}

/// Returns the sizes that a function was measured with, which its inputs tell.
std::vector<std::pair<std::string, int64_t>> measured_sizes(const fbs::FunctionT& function) {
  std::map<std::string, int64_t> sizes;
  for (uint32_t id : function.inputs) {
    const fbs::ValueT& input = *function.values[id];
    for (size_t axis = 0; axis < input.tuned_dims.size() && axis < input.sizes.size(); ++axis) {
      if (input.sizes[axis] == 0) continue;
      if (const auto symbol = symbol_of(*function.sizes[input.sizes[axis] - 1]))
        sizes[function.symbols[*symbol]->name] = input.tuned_dims[axis];
    }
  }
  return {sizes.begin(), sizes.end()};
}

ExplainedSpecialization explain_specialization(const fbs::ProgramT& program, const fbs::FunctionT& function,
                                               const fbs::SymbolRangeT& range) {
  ExplainedSpecialization explained{.size = explain_symbol(*function.symbols[range.symbol]),
                                    .targets = targets_of(program, function),
                                    .measured = time_or_none(function.measured_ns),
                                    .sizes = measured_sizes(function)};
  explained.size.range = {static_cast<int64_t>(range.min), static_cast<int64_t>(range.max)};
  explained.size.tuned.clear();
  return explained;
}

ExplainedStage explain_stage(const fbs::ProgramT& program, const fbs::StageT& stage) {
  ExplainedStage explained{.slot = program.slots[stage.slot]->name,
                           .executors = stage.executors,
                           .regions = {},
                           .inputs = {},
                           .outputs = {},
                           .frames = std::max<uint32_t>(stage.frames, 1),
                           .predicted = time_or_none(stage.predicted_ns),
                           .measured = time_or_none(stage.function->measured_ns)};
  for (const auto& step : stage.function->steps)
    if (step->kind != fbs::StepKind::copy) explained.regions.push_back(step->region);
  for (uint32_t id : stage.function->inputs) explained.inputs.push_back(stage.function->values[id]->name);
  for (uint32_t id : stage.function->outputs) explained.outputs.push_back(stage.function->values[id]->name);
  return explained;
}

}  // namespace

Explanation explain_program(const MappedProgram& mapped) {
  const fbs::ProgramT& program = mapped.description;
  Explanation explanation;
  explanation.threads = static_cast<int>(program.threads);
  explanation.arch = program.arch;
  explanation.cpu = program.cpu;
  explanation.size = measure_size(program, mapped.elf.size(), mapped.bytes, mapped.variant_bytes);
  explanation.variants = mapped.variants;
  const std::vector<MemoryUse> memory = measure_memory(program);
  for (const auto& slot : program.slots)
    explanation.slots.push_back(
        {.name = slot->name, .kind = slot->kind, .device = slot->device, .memory = memory[slot->space]});
  for (size_t r = 0; r < count_preferred_regions(program); ++r) {
    ExplainedRegion& region = explanation.regions.emplace_back();
    region.target = target_of(program, *program.regions[r]);
    region.predicted = time_or_none(program.regions[r]->predicted_ns);
    region.measured = time_or_none(program.regions[r]->measured_ns);
    for (uint32_t constant : program.regions[r]->constants)
      region.constants_bytes += program.constants[constant]->bytes;
  }
  for (const auto& note : program.nodes) {
    if (note->region >= explanation.regions.size()) continue;  // part of an alternative, or run by no region
    explanation.regions[note->region].nodes.push_back(explanation.nodes.size());
    explanation.nodes.push_back({note->name, note->op, note->reason, note->refusals, note->region});
  }
  for (const auto& function : program.functions) {
    for (uint32_t id : function->inputs)
      explanation.inputs.push_back(explain_port(*function, *function->values[id]));
    for (uint32_t id : function->outputs)
      explanation.outputs.push_back(explain_port(*function, *function->values[id]));
    for (const auto& symbol : function->symbols) explanation.open_sizes.push_back(explain_symbol(*symbol));
    FlowFinder(program, *function, explanation).find();
    for (const auto& alternative : function->alternatives)
      explanation.alternatives.push_back(
          {targets_of(program, *alternative), time_or_none(alternative->measured_ns)});
    for (const auto& specialization : function->specializations)
      for (const auto& range : specialization->ranges)
        explanation.specializations.push_back(explain_specialization(program, *specialization, *range));
    explanation.notes.insert(explanation.notes.end(), function->notes.begin(), function->notes.end());
    for (const auto& stage : function->stages) explanation.stages.push_back(explain_stage(program, *stage));
  }
  if (program.functions.size() == 1) explanation.measured = time_or_none(program.functions[0]->measured_ns);
  explanation.no_times = "a program keeps the times of its regions, not of their parts";
  return explanation;
}

std::vector<std::optional<size_t>> stages_of_regions(const Explanation& explanation) {
  std::vector<std::optional<size_t>> stages(explanation.regions.size());
  for (size_t s = explanation.stages.size(); s-- > 0;)
    for (const size_t region : explanation.stages[s].regions) stages[region] = s;
  return stages;
}

std::vector<RefusedOp> rank_refused_ops(const Explanation& explanation) {
  std::vector<RefusedOp> ops;
  for (const ExplainedNode& node : explanation.nodes) {
    if (node.refusals.empty()) continue;
    auto at = std::ranges::find(ops, node.op, &RefusedOp::op);
    if (at == ops.end()) at = ops.insert(ops.end(), {node.op, 0, uint64_t{0}, {}, {}});
    ++at->count;
    at->elements =
        at->elements && node.elements ? std::optional(*at->elements + *node.elements) : std::nullopt;
    for (const std::string& refusal : node.refusals) {
      if (at->refusals.size() < 4) add_once(at->refusals, refusal);
    }
    add_once(at->targets, explanation.regions[node.region].target);
  }
  std::ranges::stable_sort(ops, [](const RefusedOp& a, const RefusedOp& b) {
    return a.count != b.count ? a.count > b.count : a.elements.value_or(0) > b.elements.value_or(0);
  });
  return ops;
}

}  // namespace intarsia
