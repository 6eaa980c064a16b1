#include "backends/halide/compile_region.h"

#include <algorithm>
#include <array>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/canonicalize/simplify.h"
#include "backends/halide/emit/encode_plan.h"
#include "backends/halide/emit/glue_object.h"
#include "backends/halide/emit/make_region.h"
#include "backends/halide/fuse/fuse.h"
#include "backends/halide/layout/choose_layouts.h"
#include "backends/halide/memory/choose_in_place.h"
#include "backends/halide/memory/order_calls.h"
#include "backends/halide/memory/plan_memory.h"
#include "backends/halide/memory/split_to_fit.h"
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
    "order_calls",
    "choose_in_place",
    "emit_objects",
    "plan_memory",
});

/// Printer of the steps' texts, for whoever asked for them.
struct StepPrinter {
  const CompileOptions& options;
  void operator()(std::string_view step, auto text) const {
    INTARSIA_CHECK(std::ranges::find(region_steps, step) != region_steps.end());
    if (options.print_step) options.print_step(step, text());
  }
};

int threads_of_kernels(const Isa& isa, const CompileOptions& options) {
  return isa.is_offloaded() ? 1 : options.threads;
}

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

/// Checks that all places are known: too long an expression of open sizes is not.
Status check_storage(const Layouts& layouts) {
  const auto is_known = [](const Storage& storage) {
    return storage.offset.is_known() && std::ranges::all_of(storage.strides, &Dim::is_known);
  };
  if (std::ranges::all_of(layouts.storage, is_known)) return {};
  return fail(ErrorKind::unsupported, "halide: the places of values are too long expressions of open sizes");
}

}  // namespace

std::span<const std::string_view> step_names() { return region_steps; }

namespace {

/// Region whose canonical graph becomes code, perhaps in several ways.
struct RegionWork {
  const Graph& region;
  const std::vector<SizeRequirement>& requirements;
  Emitter& emitter;
  const EmitOptions& emit;
  KernelDevice device;
};

struct GeneratedRegion {
  CompiledRegion region;
  size_t arena_bytes = 0;  // workspace without what kernels allocate
};

/// Makes a canonical graph's kernels.
Draft make_draft(const RegionWork& work, const Graph& graph, const Isa& isa, int threads) {
  Draft draft{choose_layouts(graph), {}, {}};
  draft.groups = fuse(draft.layouts, work.device);
  draft.calls = make_kernels(draft.layouts, draft.groups, isa, threads, typical_sizes(work.region));
  return draft;
}

/// Makes code of a canonical graph.
Result<GeneratedRegion> generate_region(const RegionWork& work, const Graph& graph, const Isa& isa,
                                        const CompileOptions& options) {
  const StepPrinter print{options};
  // Values have places relative to the memory that they share.
  Layouts layouts = choose_layouts(graph);
  print("choose_layouts", [&] { return print_layouts(layouts); });

  TRY(check_storage(layouts));

  // Nodes other than views and concats are in one group each.
  std::vector<Group> groups = fuse(layouts, work.device);
  print("fuse", [&] { return print_groups(layouts, groups); });

  // Kernels with equal text are equal.
  std::vector<Call> calls =
      make_kernels(layouts, groups, isa, threads_of_kernels(isa, options), typical_sizes(work.region));
  share_kernels(calls);
  print("make_kernels", [&] { return print_calls(layouts, calls); });

  options.progress.expect(static_cast<double>(calls.size()));  // choosing schedules adds its own units
  // A kernel's text determines its code; weights are packed as its schedule wants them.
  CompileOptions allowed = options;
  allowed.rounds_to = rounding_of(graph, options.rounds_to);
  // Winograd's algorithm keeps tiles whose bytes have no known bound where sizes are open.
  if (options.for_plain_c && is_bound_by_runs(graph)) allowed.exact_math = true;
  TRY(choose_schedules(calls, work.emitter, work.emit, allowed));
  print("choose_schedules", [&] { return print_calls(layouts, calls); });

  // Values that are alive at the same time take little memory.
  order_calls(layouts, calls);
  print("order_calls", [&] { return print_calls(layouts, calls); });

  // Outputs share memory with inputs that have no later reader, where sizes tell that both take as much.
  if (!is_bound_by_runs(graph)) choose_in_place(layouts, calls);
  print("choose_in_place", [&] { return print_calls(layouts, calls); });

  // Kernels and schedules are fixed from here on: those whose code is too expensive to make were replaced.
  EmitOptions emit = work.emit;
  emit.progress = options.progress.part(static_cast<double>(calls.size()));
  const std::vector<EmittedKernel> emitted = TRY(emit_objects(calls, work.emitter, emit, options));
  print("emit_objects", [&] { return print_calls(layouts, calls); });

  MemoryPlan memory = plan_memory(layouts, calls, scratch_of(calls, emitted, options, work.emit));
  TRY(verify_memory(layouts, calls, memory));
  print("plan_memory", [&] { return print_memory(layouts, calls, memory); });

  const size_t arena = plan_workspace(layouts, calls).bytes, scratch = memory.scratch.total();
  CompiledRegion made =
      make_region(layouts.graph, work.requirements, calls, emitted, std::move(memory), options, work.emit);
  made.notes = describe_kernels(layouts, calls);
  made.peak = describe_peak(layouts, calls);
  made.scratch_bytes = scratch;
  return GeneratedRegion{std::move(made), arena};
}

/// Returns the bytes that count for the limit.
uint64_t limited_bytes(const CompiledRegion& region, const CompileOptions& options) {
  uint64_t bytes = region.workspace_bytes;
  for (const Tensor& constant : region.constants)
    if (!options.for_plain_c) bytes += constant.bytes();
  return bytes;
}

/// Makes code that fits into the limit, or else comes close: of convolutions that sum directly, in blocks of
/// few rows, of which kernels keep small copies; then of large parts in strips of rows.
Result<GeneratedRegion> generate_small_region(const RegionWork& work, const Graph& graph, Isa isa,
                                              CompileOptions options, GeneratedRegion best) {
  constexpr int most_rounds = 4;
  constexpr uint64_t blocks_of_limit = 8, least_block_bytes = 8192;
  options.exact_math = true;
  isa.l2_bytes =
      std::min(isa.l2_bytes,
               static_cast<int64_t>(std::max(options.memory_bytes / blocks_of_limit, least_block_bytes)));
  const MakeDraft draft = [&](const Graph& of) {
    Draft made = make_draft(work, of, isa, threads_of_kernels(isa, options));
    order_calls(made.layouts, made.calls);
    return made;
  };
  Graph tried = graph;
  uint64_t beyond = 0;  // bytes by which estimates were too low
  for (int round = 0; round < most_rounds; ++round) {
    GeneratedRegion made = TRY(generate_region(work, tried, isa, options));
    const uint64_t need = limited_bytes(made.region, options), others = need - made.arena_bytes;
    if (need < limited_bytes(best.region, options)) best = made;
    if (need <= options.memory_bytes || others + beyond >= options.memory_bytes) break;
    if (round > 0) beyond += need - options.memory_bytes;
    Graph next = split_to_fit(graph, options.memory_bytes - others - beyond, draft);
    if (next == tried) break;
    tried = std::move(next);
  }
  return best;
}

}  // namespace

Result<CompiledRegion> compile_region(const Graph& region, Emitter& emitter, const CompileOptions& options,
                                      const EmitOptions& emit_options, KernelDevice device) {
  const StepPrinter print{options};
  Isa isa = TRY(make_isa(options.cpu, device));
  if (options.for_plain_c) isa.avoid_tiles();
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

  const RegionWork work{region, requirements, emitter, emit_options, device};
  GeneratedRegion made = TRY(generate_region(work, graph, isa, options));
  const bool has_limit = options.memory_bytes > 0 && !is_bound_by_runs(graph);
  if (has_limit && limited_bytes(made.region, options) > options.memory_bytes)
    made = TRY(generate_small_region(work, graph, isa, options, std::move(made)));
  return std::move(made.region);
}

Result<std::vector<AxisOrder>> output_layouts(const Graph& region) {
  Graph graph = TRY(canonicalize(region));
  simplify(graph);
  return choose_output_layouts(graph);
}

}  // namespace intarsia::halide
