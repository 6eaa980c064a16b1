#include "backends/halide/target.h"

#include <map>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/compile_region.h"
#include "backends/halide/core/core_attributes.h"
#include "backends/halide/core/core_ops.h"
#include "backends/halide/emit/code_generation.h"
#include "graph/op_table.h"

namespace intarsia::halide {
namespace {

/// A graph of one node and what it reads; all its outputs are the graph's.
Graph node_alone(const Graph& graph, NodeId id) {
  Graph alone;
  alone.opsets = graph.opsets;
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
  for (ValueId& output : node.outputs) {
    if (output == no_value) continue;
    output = alone.add_value(graph.value(output).name, graph.value(output).type);
    alone.outputs.push_back(output);
  }
  alone.add_node(std::move(node));
  return alone;
}

KernelDevice kernel_device(const TargetDevice& device) {
  if (device.kind == "cuda") return KernelDevice::cuda;
  if (device.kind != "opencl") return KernelDevice::cpu;
  return device.is_gpu ? KernelDevice::opencl_gpu : KernelDevice::opencl;
}

/// A work item keeps the sums along the axis of a scan, and what a row of a reduction needs more than once,
/// on its stack.
constexpr int64_t longest_scan = 2048, longest_row = 65536;

bool is_long_scan(const Graph& canonical, const Node& node) {
  if (form_of(node) != Form::scan) return false;
  const std::optional<Shape> shape = static_shape(sizes_of(canonical, node.inputs[0]));
  return shape && (*shape)[static_cast<size_t>(attributes_of<CumSumAttributes>(node).axis)] > longest_scan;
}

bool has_long_row(const Graph& canonical, const Node& node) {
  if (form_of(node) != Form::reduction) return false;
  const std::optional<Shape> shape = static_shape(sizes_of(canonical, node.inputs[0]));
  int64_t elements = 1;
  for (int64_t axis : reduced_axes(node)) elements *= shape ? (*shape)[static_cast<size_t>(axis)] : 1;
  return elements > longest_row;
}

/// Those of a node, of which forms without a schedule for devices are refused.
Support supports_on_device(const Graph& canonical) {
  for (const Node& node : canonical.nodes) {
    if (form_of(node) == Form::recurrence)
      return Support::refused(fmt::format("no kernel for {} on OpenCL devices", node.op));
    if (is_long_scan(canonical, node))
      return Support::refused(
          fmt::format("{} on OpenCL devices along an axis of more than {}", node.op, longest_scan));
  }
  for (const Node& node : canonical.nodes)
    if (has_long_row(canonical, node))
      return Support::refused(
          fmt::format("a reduction of more than {} elements on OpenCL devices", longest_row));
  for (const Value& value : canonical.values)
    if (value.type.dtype == DType::f64) return Support::refused("f64, which not all OpenCL devices have");
  return Support::supported();
}

class HalideTarget : public Target {
 public:
  HalideTarget()
      : Target({.name = "halide",
                .device_kinds = {"cpu", "sim", "opencl", "cuda"},
                .code_generation = halide::code_generation,
                .step_names = {halide::step_names().begin(), halide::step_names().end()}}) {}
  std::string version() const override { return INTARSIA_HALIDE_VERSION; }

  /// A node is supported if the first step can rewrite it: the same code decides and rewrites.
  Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const override {
    if (find_op(graph.node(node)) == nullptr)
      return Support::refused(fmt::format("no kernel for {}", graph.node(node).op));
    Result<Graph> canonical = canonicalize(node_alone(graph, node));
    if (!canonical) return Support::refused(canonical.error().message);
    return kernel_device(device) == KernelDevice::cpu ? Support::supported() : supports_on_device(*canonical);
  }

  Result<std::vector<AxisOrder>> output_layouts(const Graph& region) const override {
    return halide::output_layouts(region);
  }

  /// Kernels of a device that is not here have the analytic schedules.
  Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                 const CompileOptions& options) const override {
    CompileOptions here = options;
    if (kernel_device(device) != KernelDevice::cpu) {
      here.timed_on = device.name;
      if (here.tuner != nullptr && !here.tuner->has_device(device.name)) here.tuner = nullptr;
    }
    return compile_region(region, emitter_, here, {}, kernel_device(device));
  }

 private:
  mutable Emitter emitter_;  // its code is shared by all regions of a compile
};

}  // namespace

std::unique_ptr<Target> make_target() { return std::make_unique<HalideTarget>(); }

}  // namespace intarsia::halide
