#include "backends/halide/target.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/canonicalize/item_work.h"
#include "backends/halide/canonicalize/split_items.h"
#include "backends/halide/canonicalize/told_sizes.h"
#include "backends/halide/compile_region.h"
#include "backends/halide/core/core_ops.h"
#include "backends/halide/core/half_floats.h"
#include "backends/halide/emit/code_generation.h"
#include "graph/op_table.h"

namespace intarsia::halide {
namespace {

/// Returns a graph of one node and what it reads; all outputs of the node are outputs of the graph, but for
/// those of a dequantized constant.
Graph node_alone(const Graph& graph, NodeId id) {
  Graph alone;
  alone.opsets = graph.opsets;
  alone.open_sizes = graph.open_sizes;
  Node node = graph.node(id);
  std::map<ValueId, ValueId> local;
  auto bring = [&](ValueId& value) {
    if (value == no_value) return;
    auto [at, made] = local.try_emplace(value, ValueId(alone.values.size()));
    if (made) {
      alone.values.push_back(graph.value(value));
      alone.values.back().producer = no_node;
      if (!graph.value(value).constant) alone.inputs.push_back(at->second);
    }
    value = at->second;
  };
  for (ValueId& input : node.inputs) bring(input);
  // Readers of a dequantized constant compute its numbers, which takes long where they are many.
  const bool is_lazy =
      node.op == "DequantizeLinear" && has_input(node, 0) && alone.value(node.inputs[0]).constant;
  for (ValueId& output : node.outputs) {
    if (output == no_value) continue;
    output = alone.add_value(graph.value(output).name, graph.value(output).type);
    if (!is_lazy) alone.outputs.push_back(output);
  }
  alone.add_node(std::move(node));
  return alone;
}

KernelDevice kernel_device(const TargetDevice& device) {
  if (device.kind == "cuda") return KernelDevice::cuda;
  if (device.kind != "opencl") return KernelDevice::cpu;
  return device.features.is_gpu ? KernelDevice::opencl_gpu : KernelDevice::opencl;
}

class HalideTarget : public Target {
 public:
  explicit HalideTarget(Arch arch)
      : Target({.name = "halide",
                .device_kinds = {"cpu", "sim", "opencl", "cuda"},
                .code_generation = std::string(halide::code_generation),
                .step_names = {halide::step_names().begin(), halide::step_names().end()}}),
        arch_(arch) {}
  std::string version() const override { return INTARSIA_HALIDE_VERSION; }

  /// Supports the nodes that canonicalization can rewrite: the same code decides and rewrites.
  Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const override {
    if (find_op(graph.node(node)) == nullptr)
      return Support::refused(fmt::format("no kernel for {}", graph.node(node).op));
    const Graph alone = node_alone(graph, node);
    if (has_open_sizes(alone)) return supports_open_sizes(alone, device);
    Result<Graph> canonical = canonicalize(alone);
    if (!canonical) return Support::refused(canonical.error().message);
    return supports_types(*canonical, device);
  }

  /// Regions with one open size run the kernels of one item for each, which is as fast as fixed sizes. Code
  /// for open sizes takes the other nodes, and all where there are several.
  bool wants_one_open_size(const Graph& graph, NodeId node) const override {
    const Graph alone = node_alone(graph, node);
    if (!has_open_sizes(alone) || has_data_sizes(alone) || !split_items(alone)) return false;
    return graph.open_sizes.size() == 1 || !canonicalize(alone);
  }

  bool ends_region(const Graph& graph, NodeId node) const override { return is_counted(graph.node(node)); }

  Result<std::vector<AxisOrder>> output_layouts(const Graph& region) const override {
    if (!has_open_sizes(region)) return halide::output_layouts(region);
    std::vector<AxisOrder> orders;
    for (ValueId output : region.outputs)
      orders.push_back(row_major_order(region.value(output).type.shape->size()));
    return orders;
  }

  /// Compiles a region. Kernels of a device that this machine lacks have the analytic schedules.
  Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                 const CompileOptions& options) const override {
    CompileOptions here = options;
    if (kernel_device(device) != KernelDevice::cpu) {
      here.timed_on = device.name;
      if (here.tuner != nullptr && !here.tuner->has_device(device.name)) here.tuner = nullptr;
    }
    if (has_open_sizes(region) && !has_data_sizes(region))
      if (const Result<ItemRegion> items = split_items(region))
        if (kernel_device(device) != KernelDevice::cpu || !is_better_at_once(items->item) ||
            !canonicalize(region))
          return compile_region(items->item, emitter_, here, {.input_moves = &items->input_moves},
                                kernel_device(device));
    return compile_region(region, emitter_, here, {}, kernel_device(device));
  }

 private:
  Support supports_types(const Graph& canonical, const TargetDevice& device) const {
    if (kernel_device(device) == KernelDevice::cpu) return supports_on_processor(canonical);
    const auto called = std::ranges::find_if(canonical.nodes, [](const Node& node) {
      return form_of(node) == Form::routine || form_of(node) == Form::scatter;
    });
    if (called != canonical.nodes.end())
      return Support::refused(fmt::format("{}, which only processors run", called->op));
    const bool lacks_f64 = !device.features.has_f64 && computes_in_f64(canonical);
    return lacks_f64 ? Support::refused(fmt::format("f64, which '{}' does not have", device.name))
                     : Support::supported();
  }

  /// Supports what processors compute. Microcontrollers have no f64, and routines are C++ that is compiled
  /// for other processors alone.
  Support supports_on_processor(const Graph& canonical) const {
    if (!is_of_microcontrollers(arch_)) return Support::supported();
    for (const Node& node : canonical.nodes)
      if (form_of(node) == Form::routine)
        return Support::refused(fmt::format("{}, which has no code for {}", node.op, arch_name(arch_)));
    const auto is_f64 = [](const Value& value) { return value.type.dtype == DType::f64; };
    if (std::ranges::any_of(canonical.values, is_f64))
      return Support::refused(
          fmt::format("f64, which processors of {} do not have: convert the model to f32", arch_name(arch_)));
    return Support::supported();
  }

  /// Supports nodes that have code for open sizes, or compute one item after the other.
  Support supports_open_sizes(const Graph& node, const TargetDevice& device) const {
    const Support by_sizes = supports_code_for_sizes(node, device);
    if (by_sizes.yes || has_data_sizes(node)) return by_sizes;
    const Result<ItemRegion> items = split_items(node);
    if (!items)
      return Support::refused(
          fmt::format("{}; one item at a time: {}", by_sizes.because, items.error().message));
    const Result<Graph> one = canonicalize(items->item);
    return one ? supports_types(*one, device) : Support::refused(one.error().message);
  }

  /// Supports nodes that have code for open sizes. Memory on a device is the caller's, who knows no sizes
  /// that depend on data.
  Support supports_code_for_sizes(const Graph& node, const TargetDevice& device) const {
    const Result<Graph> open = canonicalize(node);
    if (!open && has_data_sizes(node)) return Support::refused(open.error().message);
    if (!open) return Support::refused(fmt::format("open sizes: {}", open.error().message));
    if (kernel_device(device) == KernelDevice::cpu) return supports_on_processor(*open);
    if (const std::string size = find_data_size(node); !size.empty())
      return Support::refused(fmt::format("the size '{}' depends on data, and '{}' takes memory before a run",
                                          size, device.name));
    return supports_types(*open, device);
  }

  Arch arch_;
  mutable Emitter emitter_;  // shares its code among all regions of a compile
};

}  // namespace

std::unique_ptr<Target> make_target(Arch arch) { return std::make_unique<HalideTarget>(arch); }

}  // namespace intarsia::halide
