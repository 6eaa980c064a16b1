#include "rewrite/made_tensors.h"

#include <algorithm>

#include "import/freeze_function.h"
#include "tensorflow/attributes.h"

namespace intarsia {

using namespace tensorflow;

namespace {

std::vector<std::optional<SymbolicShape>> recorded_shapes(const NodeDef& node) {
  if (node.op == "EnsureShape")
    if (std::optional<std::optional<SymbolicShape>> shape = get_shape(node.attributes, "shape"))
      return {*std::move(shape)};
  return get_shapes(node.attributes, "_output_shapes");
}

}  // namespace

Result<std::vector<MadeTensor>> find_made_tensors(const NodeDef& node, const TensorFlowSource& source) {
  std::vector<MadeTensor> made;
  const OpDef* op = source.find_op ? TRY(source.find_op(node.op)) : nullptr;
  if (op == nullptr) return made;
  for (const ArgDef& output : op->outputs) {
    if (!output.type_list_attribute.empty()) {
      for (int32_t type : get_types(node.attributes, output.type_list_attribute)) made.push_back({type, {}});
      continue;
    }
    const int32_t type =
        output.type_attribute.empty() ? output.type : get_type(node.attributes, output.type_attribute);
    const int64_t count =
        output.number_attribute.empty() ? 1 : node.attributes.get_int(output.number_attribute, 0);
    for (int64_t i = 0; i < std::min<int64_t>(count, max_outputs_of_a_node); ++i) made.push_back({type, {}});
  }
  const std::vector<std::optional<SymbolicShape>> shapes = recorded_shapes(node);
  for (size_t i = 0; i < std::min(shapes.size(), made.size()); ++i) made[i].shape = shapes[i];
  return made;
}

}  // namespace intarsia
