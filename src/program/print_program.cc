#include "program/print_program.h"

#include <fmt/ranges.h>

#include <set>

#include "base/dtype.h"
#include "base/shape.h"
#include "program/open_sizes.h"

namespace intarsia {
namespace {

std::string print_type(const fbs::FunctionT& function, const fbs::ValueT& value) {
  const DType dtype = static_cast<DType>(value.dtype);
  if (dtype == DType::undefined) return "opaque";
  if (value.rank_unknown) return fmt::format("{}[*]", dtype_name(dtype));
  std::vector<std::string> sizes;
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    const std::string& text = text_of_size(function, value, axis);
    sizes.push_back(!text.empty() ? text : value.dims[axis] < 0 ? "?" : std::to_string(value.dims[axis]));
  }
  return fmt::format("{}[{}]", dtype_name(dtype), fmt::join(sizes, "x"));
}

std::string print_place(const fbs::ProgramT& program, const fbs::ValueT& value) {
  const std::string& space = program.spaces[value.space]->name;
  switch (value.storage) {
    case fbs::Storage::arena:
      return fmt::format("{} arena + {}", space, value.offset);
    case fbs::Storage::constant:
      return fmt::format("{} constant {}", space, value.constant);
    default:
      return fmt::format("{} {}", space, fbs::EnumNameStorage(value.storage));
  }
}

std::string print_values(const fbs::FunctionT& function, const std::vector<uint32_t>& ids, bool with_type) {
  std::vector<std::string> texts;
  for (uint32_t id : ids) {
    const fbs::ValueT& value = *function.values[id];
    texts.push_back(with_type ? fmt::format("{}: {}", value.name, print_type(function, value)) : value.name);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string print_function(const fbs::ProgramT& program, const fbs::FunctionT& function);

std::string print_step(const fbs::ProgramT& program, const fbs::FunctionT& function, size_t number) {
  const fbs::StepT& step = *function.steps[number];
  std::string text = fmt::format("  step {}: ", number);
  if (step.kind == fbs::StepKind::run) {
    text += fmt::format(
        "run region {} ({}) {} -> {}", step.region, target_of(program, *program.regions[step.region]),
        print_values(function, step.inputs, false), print_values(function, step.outputs, false));
  } else if (has_bodies(step)) {
    text +=
        fmt::format("{} {} -> {}", fbs::EnumNameStepKind(step.kind),
                    print_values(function, step.inputs, false), print_values(function, step.outputs, false));
  } else {
    const auto place = [&](uint32_t id) {
      const fbs::ValueT& value = *function.values[id];
      return fmt::format("{} ({})", value.name, program.spaces[value.space]->name);
    };
    text += fmt::format("copy {} -> {}", place(step.inputs[0]), place(step.outputs[0]));
  }
  if (!step.after.empty()) text += fmt::format(", after {}", fmt::join(step.after, ", "));
  text += "\n";
  for (const auto& body : step.bodies) text += "body " + print_function(program, *body);
  return text;
}

std::string print_ranges(const fbs::FunctionT& function) {
  std::vector<std::string> texts;
  for (const auto& range : function.ranges)
    texts.push_back(
        fmt::format("{} is {} to {}", function.symbols[range->symbol]->name, range->min, range->max));
  return fmt::format("{}", fmt::join(texts, " and "));
}

std::string print_function(const fbs::ProgramT& program, const fbs::FunctionT& function) {
  std::string text =
      fmt::format("function {}({}) -> ({})\n", function.name, print_values(function, function.inputs, true),
                  print_values(function, function.outputs, true));
  for (size_t space = 0; space < function.arena_bytes.size(); ++space) {
    text += fmt::format("  arena {}: {} bytes\n", program.spaces[space]->name, function.arena_bytes[space]);
  }
  for (const auto& symbol : function.symbols) {
    text += fmt::format("  size {}: {} to {}", symbol->name, symbol->min, symbol->max);
    text += symbol->tuned.empty() ? "\n" : fmt::format(", fastest at {}\n", fmt::join(symbol->tuned, ", "));
  }
  for (const auto& value : function.values) {
    text += fmt::format("  value {}: {}, {}", value->name, print_type(function, *value),
                        print_place(program, *value));
    if (!value->axes.empty()) text += fmt::format(", axes {}", fmt::join(value->axes, ", "));
    if (value->continues > 0)
      text +=
          fmt::format(", continues {} on axis {}",
                      function.values[function.inputs[value->continues - 1]]->name, value->continued_axis);
    text += "\n";
  }
  for (size_t i = 0; i < function.steps.size(); ++i) text += print_step(program, function, i);
  if (function.measured_ns > 0) text += fmt::format("  measured {} ns\n", function.measured_ns);
  for (const auto& alternative : function.alternatives)
    text += "alternative " + print_function(program, *alternative);
  for (const auto& specialization : function.specializations)
    text +=
        fmt::format("where {}: {}", print_ranges(*specialization), print_function(program, *specialization));
  for (const auto& stage : function.stages)
    text += fmt::format("stage on {} ({}): {}", program.slots[stage->slot]->name,
                        fmt::join(stage->executors, ", "), print_function(program, *stage->function));
  return text;
}

void add_targets(const fbs::ProgramT& program, const fbs::FunctionT& function,
                 std::set<std::string>& targets) {
  for (const auto& step : function.steps) {
    if (step->kind != fbs::StepKind::copy) targets.insert(target_of(program, *program.regions[step->region]));
    for (const auto& body : step->bodies) add_targets(program, *body, targets);
  }
}

}  // namespace

std::string target_of(const fbs::ProgramT& program, const fbs::RegionT& region) {
  return region.backend + "@" + program.slots[region.slot]->name;
}

std::string targets_of(const fbs::ProgramT& program, const fbs::FunctionT& function) {
  std::set<std::string> targets;
  add_targets(program, function, targets);
  return fmt::format("{}", fmt::join(targets, " + "));
}

std::string print_program(const fbs::ProgramT& program) {
  std::string text = fmt::format("program by {} for {} {}, {} threads\n", program.producer, program.arch,
                                 program.cpu, program.threads);
  if (!program.cpu_features.empty())
    text += fmt::format("needs CPU features {}\n", fmt::join(program.cpu_features, ", "));
  if (!program.precision.empty()) text += fmt::format("rounds factors to {}\n", program.precision);
  if (!program.requirements.empty()) text += fmt::format("needs {}\n", fmt::join(program.requirements, ", "));
  for (const auto& plugin : program.plugins)
    text += fmt::format("needs plug-in {} {}\n", plugin->name, plugin->version);
  if (!program.needs.empty()) text += fmt::format("uses {}\n", fmt::join(program.needs, ", "));
  for (const auto& space : program.spaces)
    text += fmt::format("space {}: memory of kind {}\n", space->name, space->kind);
  for (const auto& slot : program.slots) {
    text += fmt::format("slot {}: a {}, {} unless bound, in space {}\n", slot->name, slot->kind, slot->device,
                        program.spaces[slot->space]->name);
  }
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const fbs::ConstantT& constant = *program.constants[i];
    text +=
        fmt::format("constant {}: {} {}, {} bytes at {}\n", i, dtype_name(static_cast<DType>(constant.dtype)),
                    print_shape(constant.dims), constant.bytes, constant.offset);
  }
  for (size_t i = 0; i < program.regions.size(); ++i) {
    const fbs::RegionT& region = *program.regions[i];
    text += fmt::format("region {}: {}, blob {} bytes, workspace {} bytes, constants [{}]\n", i,
                        target_of(program, region), region.blob_bytes, region.workspace_bytes,
                        fmt::join(region.constants, ", "));
  }
  for (const auto& function : program.functions) text += print_function(program, *function);
  for (const auto& node : program.nodes) {
    text += fmt::format("node {} ({}): region {}; {}\n", node->name, node->op, node->region, node->reason);
    for (const std::string& refusal : node->refusals) text += fmt::format("  refused by {}\n", refusal);
  }
  return text;
}

}  // namespace intarsia
