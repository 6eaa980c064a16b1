#include "rewrite/sample_inputs.h"

#include <algorithm>

#include "base/fill_tensor.h"
#include "graph/size_roles.h"
#include "passes/index_limits.h"
#include "plan/choose/planning_sizes.h"

namespace intarsia {
namespace {

constexpr int64_t usual_length = 128;

const NamedValue* find_value(const std::vector<NamedValue>& values, const std::string& name) {
  const auto at = std::ranges::find(values, name, &NamedValue::name);
  return at == values.end() ? nullptr : &*at;
}

}  // namespace

void add_sizes(const ValueType& type, const Shape& shape, std::map<std::string, int64_t>& sizes) {
  if (!type.shape || type.shape->size() != shape.size()) return;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (const std::string* symbol = (*type.shape)[axis].symbol()) sizes.emplace(*symbol, shape[axis]);
}

std::map<std::string, int64_t> sizes_of(const Graph& graph, const std::vector<NamedValue>& values) {
  std::map<std::string, int64_t> sizes;
  for (const ValueId input : graph.inputs)
    if (const NamedValue* given = find_value(values, graph.value(input).name))
      add_sizes(graph.value(input).type, given->tensor.shape(), sizes);
  return sizes;
}

std::shared_ptr<const PlanningProblem> planned_with(const PlanningProblem& problem,
                                                    const std::map<std::string, int64_t>& sizes) {
  const OpenSize* const batch = find_batch(problem.graph);
  PlanningSizes numbers;
  for (const OpenSize& size : problem.graph.open_sizes) {
    const auto known = sizes.find(size.name);
    const bool is_usual = size.tuned.empty() && &size != batch;
    const int64_t wanted = known != sizes.end() ? known->second : is_usual ? usual_length : size.tuned_size();
    numbers.push_back(std::clamp(wanted, size.range.min, size.range.max));
  }
  return at_sizes(problem, numbers);
}

std::vector<NamedValue> sample_inputs(const Graph& graph, const std::vector<NamedValue>& given) {
  const std::vector<int64_t> limits = index_limits(graph);
  std::vector<NamedValue> samples;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& input = graph.value(graph.inputs[i]);
    if (const NamedValue* value = find_value(given, input.name)) {
      samples.push_back(*value);
      continue;
    }
    const std::optional<Shape> shape = graph.planned_shape(graph.inputs[i]);
    if (!shape) continue;
    Tensor tensor(input.type.dtype, *shape);
    const auto limit = static_cast<uint64_t>(limits[index(graph.inputs[i])]);
    if (fill_tensor(tensor.view(), i, limit)) samples.push_back({input.name, std::move(tensor)});
  }
  return samples;
}

}  // namespace intarsia
