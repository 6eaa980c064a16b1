#include "measure/nudge_inputs.h"

#include <cmath>

#include "base/fill_tensor.h"

namespace intarsia {
namespace {

template <typename Float>
void nudge_elements(const TensorView& tensor, const TensorView& signs) {
  const auto elements = tensor.as<Float>();
  const auto random = signs.as<Float>();
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] *= static_cast<Float>(1 + std::copysign(nudge, random[i]));
}

/// Nudges a tensor of floats; returns false for any other type, which stays as it is.
bool nudge_tensor(const TensorView& tensor, uint64_t seed) {
  TensorView reals = tensor;
  if (is_complex(tensor.dtype)) {
    reals.dtype = tensor.dtype == DType::c64 ? DType::f32 : DType::f64;
    reals.shape.push_back(2);
  }
  if (reals.dtype != DType::f32 && reals.dtype != DType::f64) return false;
  const Tensor signs(reals.dtype, reals.shape);
  if (!fill_tensor(signs.view(), seed)) return false;
  if (reals.dtype == DType::f32)
    nudge_elements<float>(reals, signs.view());
  else
    nudge_elements<double>(reals, signs.view());
  return true;
}

}  // namespace

std::vector<NamedValue> nudge_inputs(std::span<const NamedValue> inputs) {
  std::vector<NamedValue> nudged;
  bool changed = false;
  for (const NamedValue& input : inputs) {
    Tensor copy(input.tensor.view());
    changed |= nudge_tensor(copy.view(), nudged.size());
    nudged.push_back({input.name, std::move(copy)});
  }
  return changed ? nudged : std::vector<NamedValue>();
}

bool nudge_weights(Graph& graph) {
  bool changed = false;
  for (uint32_t i = 0; i < graph.values.size(); ++i) {
    std::optional<Tensor>& constant = graph.values[i].constant;
    if (!constant || element_count(constant->shape()) < 2) continue;
    Tensor copy(constant->view());
    if (!nudge_tensor(copy.view(), i)) continue;
    constant = std::move(copy);
    changed = true;
  }
  return changed;
}

}  // namespace intarsia
