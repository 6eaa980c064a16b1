#include "backends/halide/emit/list_calls.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "backends/halide/abi/kernel_symbol.h"
#include "backends/halide/emit/glue_object.h"
#include "backends/halide/emit/kernel_costs.h"

namespace intarsia::halide {
namespace {

/// Returns the sizes that stand for those of a kernel in one of its calls.
std::map<std::string, Dim> sizes_in_region(const Call& call) {
  std::map<std::string, Dim> sizes;
  for (size_t i = 0; i < call.symbols.size(); ++i) sizes[symbol_name(i)] = Dim::named(call.symbols[i]);
  return sizes;
}

SymbolicShape substitute(const SymbolicShape& shape, const std::map<std::string, Dim>& sizes) {
  SymbolicShape made;
  for (const Dim& size : shape) made.push_back(size.substitute(sizes));
  return made;
}

KernelCall list_call(const Call& call, const EmittedKernel& kernel, const std::vector<Place>& places,
                     const CompileOptions& options) {
  KernelCall to{.symbol = kernel.symbol,
                .key = cost_key(call.kernel, options),
                .label = label_of(call, options.keep_names),
                .times = call.times};
  const std::map<std::string, Dim> sizes = sizes_in_region(call);
  for (size_t i = 0; i < places.size(); ++i) {
    const Argument& argument = i < call.kernel.inputs.size() ? call.kernel.inputs[i] : kernel.output;
    to.tensors.push_back({static_cast<CallTensor::Where>(places[i].where), places[i].index, places[i].offset,
                          call.walk(i).step * static_cast<int64_t>(dtype_bytes(argument.dtype, 1)),
                          argument.dtype, substitute(argument.shape, sizes),
                          substitute(argument.strides, sizes)});
  }
  for (const std::string& symbol : call.symbols) to.sizes.push_back(Dim::named(symbol));
  for (const IndexCheck& check : call.checks) {
    CallCheck made{check.input, {}};
    for (const auto& [low, high] : check.limits) made.ranges.emplace_back(low, high);
    to.checks.push_back(std::move(made));
  }
  to.is_copy = is_plain_copy(call);
  return to;
}

/// Gives each call of a region with known places its scratch.
void place_scratch(const MemoryPlan& memory, std::vector<KernelCall>& calls) {
  if (memory.scratch.workers == 0) return;
  for (size_t c = 0; c < calls.size(); ++c)
    calls[c].scratch = {0, memory.scratch_offsets[c], static_cast<int64_t>(memory.scratch.calls[c])};
}

/// Returns the bytes of copies of what a call reads at open sizes, in f32 at least. Kernels whose allocations
/// have no bound keep blocks of these, with their borders.
Dim bytes_of_copies(const Call& call) {
  Dim bytes = 0;
  for (const Argument& input : call.kernel.inputs) {
    Dim elements = 1;
    for (const Dim& size : input.shape) elements = elements * size;
    if (elements.is_number()) continue;
    bytes = bytes + elements * std::max<int64_t>(static_cast<int64_t>(dtype_bytes(input.dtype, 1)), 4);
  }
  return bytes.substitute(sizes_in_region(call));
}

/// Returns the bytes that a thread may allocate in a call of open sizes.
Dim scratch_in_open_region(const Call& call, const EmittedKernel& kernel) {
  const Dim bound = kernel.scratch_bound.substitute(sizes_in_region(call));
  if (bound.is_known()) return ceil_div(bound, 64) * 64;
  const Dim fixed = static_cast<int64_t>(kernel.scratch_bytes + open_scratch_bytes);
  return ceil_div(fixed + bytes_of_copies(call), 64) * 64;
}

/// Adds a part to the workspace of a region of open sizes for the scratch of each call that needs some.
void add_scratch(const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels, int threads,
                 RegionCalls& region) {
  for (size_t c = 0; c < kernels.size(); ++c) {
    const Dim bytes = scratch_in_open_region(calls[c], kernels[c]);
    if (bytes == 0) continue;
    region.calls[c].scratch = {region.workspace.size(), 0, bytes};
    region.workspace.push_back({bytes * threads, static_cast<int>(c), static_cast<int>(c)});
  }
}

uint64_t bytes_of(const Graph& graph, ValueId value) {
  const ValueType& type = graph.value(value).type;
  return dtype_bytes(type.dtype, static_cast<size_t>(element_count(*type.fixed_shape())));
}

CallItems list_items(const Graph& graph, const std::vector<bool>& input_moves) {
  CallItems items{input_moves, {}, {}};
  for (ValueId input : graph.inputs) items.input_bytes.push_back(bytes_of(graph, input));
  for (ValueId output : graph.outputs) items.output_bytes.push_back(bytes_of(graph, output));
  return items;
}

}  // namespace

bool is_plain_copy(const Call& call) {
  const std::vector<Node>& nodes = call.kernel.body.nodes;
  return nodes.size() == 1 && op_of(nodes[0]) == CoreOp::copy && call.kernel.inputs.size() == 1;
}

bool needs_elements(const Call& call) {
  constexpr std::array of_elements{CoreOp::arg_max, CoreOp::arg_min, CoreOp::grid_sample,
                                   CoreOp::deform_sample};
  return std::ranges::any_of(call.kernel.body.nodes, [&](const Node& node) {
    return std::ranges::find(of_elements, op_of(node)) != of_elements.end();
  });
}

size_t stack_of(const std::vector<EmittedKernel>& kernels) {
  size_t most = 0;
  for (const EmittedKernel& kernel : kernels) most = std::max(most, kernel.stack_bytes);
  return most;
}

std::string label_of(const Call& call, bool keep_names) {
  std::vector<std::string_view> ops;
  for (const Node& node : call.kernel.body.nodes) ops.push_back(node.op);
  const std::string work = fmt::format("{}", fmt::join(ops, " "));
  return keep_names ? fmt::format("{}: {}", call.source, work) : work;
}

RegionCalls list_calls(const Graph& graph, const std::vector<SizeRequirement>& requirements,
                       const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                       const MemoryPlan& memory, const CompileOptions& options, const EmitOptions& emit) {
  RegionCalls region;
  for (size_t c = 0; c < calls.size(); ++c)
    region.calls.push_back(list_call(calls[c], kernels[c], memory.places[c], options));
  for (const auto& [bytes, first, last] : memory.buffers) region.workspace.push_back({bytes, first, last});
  region.is_placed = !is_bound_by_runs(graph);
  if (region.is_placed)
    place_scratch(memory, region.calls);
  else
    add_scratch(calls, kernels, options.threads, region);
  for (const auto& [nonnegative, why] : requirements) region.requirements.emplace_back(nonnegative, why);
  if (emit.input_moves != nullptr) region.items = list_items(graph, *emit.input_moves);
  region.stack_bytes = stack_of(kernels);
  region.sources = call_sources();
  if (has_counted_outputs(graph)) region.why_not = "which counts the elements of a result";
  return region;
}

}  // namespace intarsia::halide
