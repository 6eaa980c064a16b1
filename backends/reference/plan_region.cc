#include "backends/reference/plan_region.h"

#include "base/arena_plan.h"

namespace intarsia::reference {
namespace {

/// Checks whether an intermediate value can be planned: its size is known and its elements are plain bytes.
bool is_plannable(const ValueType& type) {
  return type.dtype != DType::undefined && type.dtype != DType::string && type.fixed_shape().has_value();
}

/// Places inputs, constants and outputs of the region; the rest is `unused` until place_results.
Status place_boundary(const Graph& region, RegionPlan& plan, std::vector<Tensor>& constants) {
  for (const Value& value : region.values) {
    PlannedValue planned;
    planned.name = value.name;
    if (value.constant && value.constant->dtype() == DType::string) {
      planned.place = Place::text;
      planned.text = *value.constant;
    } else if (value.constant) {
      planned.place = Place::constant;
      planned.index = static_cast<uint32_t>(constants.size());
      constants.push_back(*value.constant);
    }
    plan.values.push_back(std::move(planned));
  }
  plan.constants = static_cast<uint32_t>(constants.size());
  for (ValueId id : region.inputs) {
    PlannedValue& planned = plan.values[index(id)];
    planned.place = Place::input;
    planned.index = static_cast<uint32_t>(plan.inputs.size());
    plan.inputs.push_back(static_cast<uint32_t>(id));
  }
  for (ValueId id : region.outputs) {
    PlannedValue& planned = plan.values[index(id)];
    if (planned.place == Place::unused) {
      if (region.value(id).producer == no_node) return fail("output '{}' has no producer", planned.name);
      planned.place = Place::output;
      planned.index = static_cast<uint32_t>(plan.outputs.size());
    }
    plan.outputs.push_back(static_cast<uint32_t>(id));
  }
  return {};
}

/// Places values between nodes: in the workspace from the call that writes them to the last that reads them,
/// or dynamic.
Status place_results(const Graph& region, RegionPlan& plan) {
  const auto readers = find_readers(region);
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> planned_values;
  for (size_t i = 0; i < region.values.size(); ++i) {
    const Value& value = region.values[i];
    PlannedValue& planned = plan.values[i];
    if (planned.place != Place::unused || value.producer == no_node) continue;
    planned.place = is_plannable(value.type) ? Place::workspace : Place::dynamic;
    if (planned.place == Place::dynamic) continue;
    planned.planned = {nullptr, value.type.dtype, *value.type.fixed_shape()};
    TRY(with_context(checked_elements(planned.planned.shape), "value '{}'", value.name));
    const int first = static_cast<int>(value.producer);
    const int last = readers[i].empty() ? first : static_cast<int>(readers[i].back());
    lifetimes.push_back({planned.planned.bytes(), first, last});
    planned_values.push_back(i);
  }
  const ArenaPlan arena = plan_arena(lifetimes);
  for (size_t k = 0; k < planned_values.size(); ++k) plan.values[planned_values[k]].offset = arena.offsets[k];
  plan.workspace_bytes = arena.bytes;
  return {};
}

std::vector<uint32_t> value_numbers(const std::vector<ValueId>& ids) {
  std::vector<uint32_t> numbers;
  for (ValueId id : ids) numbers.push_back(id == no_value ? left_out : static_cast<uint32_t>(id));
  return numbers;
}

}  // namespace

Result<PlannedRegion> plan_region(const Graph& region) {
  PlannedRegion planned;
  TRY(place_boundary(region, planned.plan, planned.constants));
  TRY(place_results(region, planned.plan));
  for (const Node& node : region.nodes) {
    planned.plan.calls.push_back({node.name,
                                  node.op,
                                  node.domain,
                                  node.version,
                                  value_numbers(node.inputs),
                                  value_numbers(node.outputs),
                                  node.attributes,
                                  {}});
  }
  return planned;
}

}  // namespace intarsia::reference
