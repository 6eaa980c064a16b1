#include "backends/reference/evaluate.h"

#include "backends/reference/kernel_call.h"

namespace intarsia::reference {

Result<std::vector<Tensor>> evaluate_node(const Node& node, std::span<const Tensor* const> inputs) {
  const Kernel kernel = find_kernel(node.domain, node.op);
  if (kernel == nullptr) return fail("node '{}': no reference kernel for {}", node.name, node.op);
  std::vector<ConstTensorView> views(inputs.size());
  std::vector<const ConstTensorView*> given(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    views[i] = inputs[i]->view();
    given[i] = &views[i];
  }
  std::vector<OutputSlot> slots(node.outputs.size());
  for (size_t i = 0; i < slots.size(); ++i) slots[i].wanted = node.outputs[i] != no_value;
  TRY(with_context(call_kernel(kernel, node.attributes, node.version, given, slots), "node '{}' ({})",
                   node.name, node.op));
  std::vector<Tensor> outputs;
  for (OutputSlot& slot : slots) outputs.emplace_back(std::move(slot.view), std::move(slot.owner));
  return outputs;
}

}  // namespace intarsia::reference
