#include "backends/halide/compile_region.h"

#include <algorithm>
#include <array>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/canonicalize/simplify.h"
#include "backends/halide/emit/glue_object.h"
#include "backends/halide/emit/make_region.h"
#include "backends/halide/fuse/fuse.h"
#include "backends/halide/layout/choose_layouts.h"
#include "backends/halide/memory/choose_in_place.h"
#include "backends/halide/memory/plan_memory.h"
#include "backends/halide/memory/verify_memory.h"
#include "backends/halide/schedule/describe_kernels.h"
#include "backends/halide/schedule/kernel.h"
#include "backends/halide/schedule/round_factors.h"
#include "backends/halide/schedule/share_kernels.h"
#include "backends/halide/schedule/unfold_taps.h"
#include "backends/halide/tune/choose_schedules.h"
#include "graph/print_graph.h"

namespace intarsia::halide {
namespace {

constexpr auto region_steps = std::to_array<std::string_view>({
    "canonicalize",
    "simplify",
    "round_factors",
    "unfold_taps",
    "choose_layouts",
    "fuse",
    "make_kernels",
    "choose_schedules",
    "choose_in_place",
    "emit_objects",
    "plan_memory",
});

/// Checks that all places are known: too long an expression of open sizes is not.
/// Returns the type that products may round factors to: f16 only if all their weights are in its range.
DType rounding_of(const Graph& graph, DType wanted) {
  if (wanted != DType::f16) return wanted;
  constexpr float largest = 65504;
  const auto is_in_range = [](float number) { return std::abs(number) <= largest; };
  for (const Node& node : graph.nodes) {
    if (op_of(node) != CoreOp::matmul && op_of(node) != CoreOp::conv) continue;
    const std::optional<Tensor>& weights = graph.value(node.inputs[1]).constant;
    if (weights && weights->dtype() == DType::f32 && !std::ranges::all_of(weights->as<float>(), is_in_range))
      return DType::f32;
  }
  return wanted;
}

Status check_storage(const Layouts& layouts) {
  const auto is_known = [](const Storage& storage) {
    return storage.offset.is_known() && std::ranges::all_of(storage.strides, &Dim::is_known);
  };
  if (std::ranges::all_of(layouts.storage, is_known)) return {};
  return fail(ErrorKind::unsupported, "halide: the places of values are too long expressions of open sizes");
}

}  // namespace

std::span<const std::string_view> step_names() { return region_steps; }

Result<CompiledRegion> compile_region(const Graph& region, Emitter& emitter, const CompileOptions& options,
                                      const EmitOptions& emit_options, KernelDevice device) {
  auto print = [&](std::string_view step, auto text) {
    INTARSIA_CHECK(std::ranges::find(region_steps, step) != region_steps.end());
    if (options.print_step) options.print_step(step, text());
  };
  Isa isa = TRY(make_isa(options.cpu, device));
  if (!options.allows_tiles) isa.avoid_tiles();
  TRY(check_glue(arch_of_level(isa.level)));
  TRY(emitter.start());

  // The graph has few core operators, all sizes known, parameters as attributes.
  std::vector<SizeRequirement> requirements;
  Graph graph = TRY(canonicalize(region, &requirements));
  print("canonicalize", [&] { return print_graph(graph); });

  // Values known at compile time are folded away; reshapes stand where they are views.
  simplify(graph);
  print("simplify", [&] { return print_graph(graph); });

  // What products on tile registers read has 16 bits in memory, where products may round it.
  if (options.rounds_to == DType::bf16) round_factors(graph, isa);
  print("round_factors", [&] { return print_graph(graph); });

  // Convolutions of few channels have a depth that fills tile registers.
  unfold_taps(graph, isa, options.rounds_to == DType::bf16);
  print("unfold_taps", [&] { return print_graph(graph); });

  // Values have places relative to the memory that they share.
  Layouts layouts = choose_layouts(graph);
  print("choose_layouts", [&] { return print_layouts(layouts); });

  TRY(check_storage(layouts));

  // Nodes other than views and concats are in one group each.
  std::vector<Group> groups = fuse(layouts, device);
  print("fuse", [&] { return print_groups(layouts, groups); });

  // Kernels with equal text are equal.
  std::vector<Call> calls =
      make_kernels(layouts, groups, isa, isa.is_offloaded() ? 1 : options.threads, typical_sizes(region));
  share_kernels(calls);
  print("make_kernels", [&] { return print_calls(layouts, calls); });

  options.progress.expect(static_cast<double>(calls.size()));  // choosing schedules adds its own units
  // A kernel's text determines its code; weights are packed as its schedule wants them.
  CompileOptions allowed = options;
  allowed.rounds_to = rounding_of(graph, options.rounds_to);
  TRY(choose_schedules(calls, emitter, emit_options, allowed));
  print("choose_schedules", [&] { return print_calls(layouts, calls); });

  // Outputs share memory with inputs that have no later reader, where sizes tell that both take as much.
  if (!is_bound_by_runs(graph)) choose_in_place(layouts, calls);
  print("choose_in_place", [&] { return print_calls(layouts, calls); });

  // Kernels and schedules are fixed from here on: those whose code is too expensive to make were replaced.
  EmitOptions emit = emit_options;
  emit.progress = options.progress.part(static_cast<double>(calls.size()));
  const std::vector<EmittedKernel> emitted = TRY(emit_objects(calls, emitter, emit, options));
  print("emit_objects", [&] { return print_calls(layouts, calls); });

  MemoryPlan memory = plan_memory(layouts, calls);
  TRY(verify_memory(layouts, calls, memory));
  print("plan_memory", [&] { return print_memory(layouts, calls, memory); });

  CompiledRegion made =
      make_region(layouts.graph, requirements, calls, emitted, std::move(memory), options, emit_options);
  made.notes = describe_kernels(layouts, calls);
  return made;
}

Result<std::vector<AxisOrder>> output_layouts(const Graph& region) {
  Graph graph = TRY(canonicalize(region));
  simplify(graph);
  return choose_output_layouts(graph);
}

}  // namespace intarsia::halide
