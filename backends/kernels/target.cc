#include "backends/kernels/target.h"

#include <filesystem>

#include "backends/kernels/kernel_library.h"
#include "backends/kernels/list_user_calls.h"
#include "backends/reference/plan_region.h"

namespace intarsia {
namespace kernels {
namespace {

using Library = std::shared_ptr<const KernelLibrary>;

std::vector<int64_t> sizes_of(const ValueType& type) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : *type.shape) sizes.push_back(dim.is_number() ? dim.number() : -1);
  return sizes;
}

/// Describes inputs by the types known so far; constants with their data.
Result<std::vector<intarsia_kernel_tensor>> describe_inputs(const Graph& graph, const Node& node) {
  std::vector<intarsia_kernel_tensor> inputs;
  for (ValueId id : node.inputs) {
    if (id == no_value) {
      inputs.push_back({});
      continue;
    }
    const Value& value = graph.value(id);
    if (value.type.opaque || !value.type.shape)
      return fail("the rank of '{}' is not known at compile time", value.name);
    inputs.push_back(
        TRY(with_context(describe_tensor(value.type.dtype, sizes_of(value.type)), "input '{}'", value.name)));
    if (value.constant) inputs.back().data = value.constant->data();
  }
  return inputs;
}

class KernelsTarget : public Target {
 public:
  explicit KernelsTarget(std::vector<Library> libraries)
      : Target({.name = "kernels", .is_users_own = true}), libraries_(std::move(libraries)) {}

  Support supports(const Graph& graph, NodeId id, const TargetDevice&) const override {
    const Node& node = graph.node(id);
    if (find(node).first == nullptr)
      return Support::refused(fmt::format("the given libraries have no {}", node.op));
    const auto outputs = infer(graph, node);
    return outputs ? Support::supported() : Support::refused(outputs.error().message);
  }

  Status infer_types(Graph& graph, NodeId id) const override {
    const Node& node = graph.node(id);
    if (find(node).first == nullptr) return {};
    const std::vector<intarsia_kernel_tensor> outputs = TRY(infer(graph, node));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] == no_value) continue;
      SymbolicShape shape;
      for (int axis = 0; axis < outputs[i].rank; ++axis) {
        shape.push_back(outputs[i].sizes[axis] < 0 ? Dim::unknown() : Dim(outputs[i].sizes[axis]));
      }
      graph.value(node.outputs[i]).type =
          ValueType{static_cast<DType>(outputs[i].dtype), std::move(shape), false, {}};
    }
    return {};
  }

  Result<CompiledRegion> compile(const Graph& region, const TargetDevice&,
                                 const CompileOptions&) const override {
    reference::PlannedRegion planned = TRY(reference::plan_region(region));
    for (reference::PlannedCall& call : planned.plan.calls) {
      for (const Library& library : libraries_) {
        if (call.library.empty() && library->find(call.domain, call.op))
          call.library = std::filesystem::absolute(library->path()).string();
      }
    }
    CompiledRegion compiled;
    compiled.blob = reference::encode_plan(planned.plan);
    compiled.calls = std::make_shared<const RegionCalls>(list_user_calls(region, planned.plan));
    compiled.constants = std::move(planned.constants);
    compiled.workspace_bytes = planned.plan.workspace_bytes;
    compiled.kernels = static_cast<int>(planned.plan.calls.size());
    return compiled;
  }

 private:
  std::pair<const intarsia_kernel*, const KernelLibrary*> find(const Node& node) const {
    for (const Library& library : libraries_) {
      if (const intarsia_kernel* kernel = library->find(node.domain, node.op)) return {kernel, library.get()};
    }
    return {nullptr, nullptr};
  }

  Result<std::vector<intarsia_kernel_tensor>> infer(const Graph& graph, const Node& node) const {
    const std::vector<intarsia_kernel_tensor> inputs = TRY(describe_inputs(graph, node));
    std::vector<intarsia_kernel_tensor> outputs(node.outputs.size());
    const NodeDescription description(node.op, node.domain, node.version, node.attributes);
    TRY(infer_outputs(*find(node).first, description, inputs, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] != no_value && outputs[i].dtype == 0)
        return fail("the user's kernel {}.{} does not set output {}", node.domain, node.op, i);
    }
    return outputs;
  }

  std::vector<Library> libraries_;
};

}  // namespace
}  // namespace kernels

Result<std::unique_ptr<Target>> make_kernels_target(const std::vector<std::string>& libraries) {
  std::vector<kernels::Library> opened;
  for (const std::string& path : libraries) opened.push_back(TRY(kernels::KernelLibrary::open(path)));
  return std::make_unique<kernels::KernelsTarget>(std::move(opened));
}

}  // namespace intarsia
