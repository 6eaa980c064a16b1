#include "graph/op_table.h"

namespace intarsia {
namespace {

template <typename T>
std::vector<int64_t> integers(const Tensor& tensor) {
  const std::span<T> values = tensor.as<T>();
  return {values.begin(), values.end()};
}

}  // namespace

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

std::optional<std::vector<int64_t>> ShapeContext::known_ints(size_t input) const {
  if (const Tensor* tensor = constant(input)) {
    if (tensor->dtype() == DType::i64) return integers<int64_t>(*tensor);
    return tensor->dtype() == DType::i32 ? std::optional(integers<int32_t>(*tensor)) : std::nullopt;
  }
  const auto known = elements(input);
  return known && dtype(input) != DType::boolean ? static_shape(*known) : std::nullopt;
}

std::optional<std::vector<Dim>> ShapeContext::elements(size_t input) const {
  if (!has_input(input)) return std::nullopt;
  const Tensor* tensor = constant(input);
  if (tensor == nullptr) return graph_.value(node_.inputs[input]).type.elements;
  if (element_count(tensor->shape()) > most_elements) return std::nullopt;
  if (tensor->dtype() == DType::i64) return to_symbolic(integers<int64_t>(*tensor));
  if (tensor->dtype() == DType::i32) return to_symbolic(integers<int32_t>(*tensor));
  return tensor->dtype() == DType::boolean ? std::optional(to_symbolic(integers<bool>(*tensor)))
                                           : std::nullopt;
}

const SymbolicShape* ShapeContext::output_shape(size_t output) const {
  if (!has_output(output)) return nullptr;
  const std::optional<SymbolicShape>& shape = graph_.value(node_.outputs[output]).type.shape;
  return shape ? &*shape : nullptr;
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
