#include "graph/op_table.h"

namespace intarsia {

bool ShapeContext::has_input(size_t i) const { return intarsia::has_input(node_, i); }
bool ShapeContext::has_output(size_t i) const { return intarsia::has_output(node_, i); }

DType ShapeContext::dtype(size_t input) const {
  return has_input(input) ? graph_.value(node_.inputs[input]).type.dtype : DType::undefined;
}

bool ShapeContext::is_opaque(size_t input) const {
  return has_input(input) && graph_.value(node_.inputs[input]).type.opaque;
}

std::string ShapeContext::encoded_type(size_t input) const {
  return is_opaque(input) ? graph_.value(node_.inputs[input]).type.encoded : std::string();
}

const SymbolicShape* ShapeContext::shape(size_t input) const {
  if (!has_input(input)) return nullptr;
  const ValueType& type = graph_.value(node_.inputs[input]).type;
  return type.shape && !type.opaque ? &*type.shape : nullptr;
}

const Tensor* ShapeContext::constant(size_t input) const {
  if (!has_input(input)) return nullptr;
  const std::optional<Tensor>& constant = graph_.value(node_.inputs[input]).constant;
  return constant ? &*constant : nullptr;
}

std::optional<std::vector<int64_t>> ShapeContext::constant_ints(size_t input) const {
  const Tensor* tensor = constant(input);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::i64) {
    const std::span<int64_t> values = tensor->as<int64_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  if (tensor->dtype() == DType::i32) {
    const std::span<int32_t> values = tensor->as<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  return std::nullopt;
}

void ShapeContext::set_output(size_t output, DType dtype, std::optional<SymbolicShape> shape) {
  if (!has_output(output)) return;
  graph_.value(node_.outputs[output]).type = ValueType{dtype, std::move(shape), false, {}};
}

void ShapeContext::set_opaque_output(size_t output, std::string encoded_type) {
  if (!has_output(output)) return;
  graph_.value(node_.outputs[output]).type =
      ValueType{DType::undefined, std::nullopt, true, std::move(encoded_type)};
}

}  // namespace intarsia
