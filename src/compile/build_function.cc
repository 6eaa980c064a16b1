#include "compile/build_function.h"

#include <algorithm>
#include <map>

#include "base/arena_plan.h"

namespace intarsia {
namespace {

/// Whether the value can lie in an arena: fixed size, plain bytes.
bool is_plain(const ValueType& type) {
  return !type.opaque && type.dtype != DType::undefined && type.dtype != DType::string &&
         type.fixed_shape().has_value();
}

class FunctionBuilder {
 public:
  FunctionBuilder(const CompileResult& result, const CompiledRegions& regions, uint32_t first_region,
                  uint32_t first_constant)
      : result_(result), regions_(regions), first_region_(first_region), first_constant_(first_constant) {
    const auto host =
        std::ranges::find_if(result.slots, [](const DeviceSlot& slot) { return is_host_kind(slot.kind); });
    host_ = static_cast<uint32_t>(host - result.slots.begin());
  }

  Result<BuiltFunction> build() {
    function_.name = result_.function_name;
    for (ValueId input : result_.graph.inputs) {
      function_.inputs.push_back(add_value({input, host_slot}, fbs::Storage::input));
    }
    mark_outputs();
    for (const ScheduleStep& step : result_.steps) add_step(step);
    for (ValueId output : result_.graph.outputs) add_output(output);
    order_steps();
    TRY(plan_arenas());
    return BuiltFunction{std::move(function_), std::move(constants_)};
  }

 private:
  uint32_t slot_number(uint32_t memory) const { return memory == host_slot ? host_ : memory; }

  /// A constant or an input that is itself an output reaches it by a copy step at the end.
  bool needs_own_output(ValueId output) const {
    const Value& value = result_.graph.value(output);
    return value.constant || value.producer == no_node;
  }

  void mark_outputs() {
    for (ValueId output : result_.graph.outputs) {
      if (!needs_own_output(output)) is_output_[output] = true;
    }
  }

  uint32_t append(const Value& value, uint32_t slot, fbs::Storage storage) {
    auto entry = std::make_unique<fbs::ValueT>();
    entry->name = value.name;
    entry->dtype = value.type.opaque ? 0 : static_cast<uint8_t>(value.type.dtype);
    entry->encoded_type.assign(value.type.encoded.begin(), value.type.encoded.end());
    entry->rank_unknown = !value.type.shape;
    if (value.type.shape) {
      for (const Dim& dim : *value.type.shape) entry->dims.push_back(dim.is_number() ? dim.value : -1);
    }
    entry->slot = slot;
    entry->storage = storage;
    function_.values.push_back(std::move(entry));
    return static_cast<uint32_t>(function_.values.size() - 1);
  }

  uint32_t add_value(const PlacedValue& placed, fbs::Storage storage) {
    const uint32_t number = append(result_.graph.value(placed.value), slot_number(placed.slot), storage);
    numbers_[placed] = number;
    return number;
  }

  /// The number of a value that a step makes; `is_adopted`: in memory that comes with it.
  uint32_t make(const PlacedValue& placed, bool is_adopted) {
    const Value& value = result_.graph.value(placed.value);
    if (is_adopted || !is_plain(value.type)) return add_value(placed, fbs::Storage::dynamic);
    const bool to_caller = placed.slot == host_slot && is_output_.contains(placed.value);
    return add_value(placed, to_caller ? fbs::Storage::output : fbs::Storage::arena);
  }

  void add_step(const ScheduleStep& step) {
    auto entry = std::make_unique<fbs::StepT>();
    if (step.kind == ScheduleStep::Kind::copy) {
      entry->kind = fbs::StepKind::copy;
      entry->inputs = {numbers_.at(step.from)};
      entry->outputs = {make(step.to, false)};
    } else {
      entry->region = first_region_ + step.region;
      const uint32_t target = result_.partition.regions[step.region].target;
      const uint32_t slot = result_.targets[target].slot;
      const uint32_t memory = is_host_kind(result_.slots[slot].kind) ? host_slot : slot;
      const bool is_adopted = memory == host_slot && result_.targets[target].backend->makes_outputs();
      for (ValueId input : result_.boundaries[step.region].inputs)
        entry->inputs.push_back(numbers_.at({input, memory}));
      for (ValueId output : result_.boundaries[step.region].outputs)
        entry->outputs.push_back(make({output, memory}, is_adopted));
    }
    function_.steps.push_back(std::move(entry));
  }

  void add_output(ValueId output) {
    if (!needs_own_output(output)) {
      function_.outputs.push_back(numbers_.at({output, host_slot}));
      return;
    }
    const Value& value = result_.graph.value(output);
    auto step = std::make_unique<fbs::StepT>();
    step->kind = fbs::StepKind::copy;
    step->inputs = {value.constant ? add_constant(output) : numbers_.at({output, host_slot})};
    step->outputs = {
        append(value, host_, is_plain(value.type) ? fbs::Storage::output : fbs::Storage::dynamic)};
    function_.outputs.push_back(step->outputs[0]);
    function_.steps.push_back(std::move(step));
  }

  uint32_t add_constant(ValueId id) {
    const uint32_t number = append(result_.graph.value(id), host_, fbs::Storage::constant);
    function_.values[number]->constant = first_constant_ + static_cast<uint32_t>(constants_.size());
    constants_.push_back(id);
    return number;
  }

  /// A step comes after the steps that make what it reads.
  void order_steps() {
    std::vector<int> maker(function_.values.size(), -1);
    for (size_t s = 0; s < function_.steps.size(); ++s) {
      fbs::StepT& step = *function_.steps[s];
      for (uint32_t input : step.inputs) {
        if (maker[input] >= 0) step.after.push_back(static_cast<uint32_t>(maker[input]));
      }
      std::ranges::sort(step.after);
      step.after.erase(std::ranges::unique(step.after).begin(), step.after.end());
      for (uint32_t output : step.outputs) maker[output] = static_cast<int>(s);
    }
  }

  /// What lies in an arena: a value, or the workspace of a step.
  struct Tenant {
    uint64_t* offset;
    Lifetime lifetime;
  };

  std::vector<Tenant> find_tenants(uint32_t slot) {
    std::vector<Tenant> tenants;
    std::map<uint32_t, size_t> tenant_of_value;
    for (size_t s = 0; s < function_.steps.size(); ++s) {
      fbs::StepT& step = *function_.steps[s];
      const int now = static_cast<int>(s);
      for (uint32_t input : step.inputs) {
        if (auto at = tenant_of_value.find(input); at != tenant_of_value.end())
          tenants[at->second].lifetime.last = now;
      }
      for (uint32_t output : step.outputs) {
        fbs::ValueT& value = *function_.values[output];
        if (value.storage != fbs::Storage::arena || value.slot != slot) continue;
        const size_t bytes =
            dtype_bytes(static_cast<DType>(value.dtype), static_cast<size_t>(element_count(value.dims)));
        tenant_of_value[output] = tenants.size();
        tenants.push_back({&value.offset, {bytes, now, now}});
      }
      if (step.kind != fbs::StepKind::run) continue;
      const uint32_t region_slot =
          result_.targets[result_.partition.regions[step.region - first_region_].target].slot;
      const size_t workspace = regions_.regions[step.region - first_region_].workspace_bytes;
      if (region_slot == slot && workspace > 0)
        tenants.push_back({&step.workspace_offset, {workspace, now, now}});
    }
    return tenants;
  }

  Status plan_arenas() {
    for (uint32_t slot = 0; slot < result_.slots.size(); ++slot) {
      const std::vector<Tenant> tenants = find_tenants(slot);
      std::vector<Lifetime> lifetimes;
      for (const Tenant& tenant : tenants) lifetimes.push_back(tenant.lifetime);
      const ArenaPlan plan = plan_arena(lifetimes);
      TRY(with_context(verify_arena(lifetimes, plan), "internal error: arena of slot '{}'",
                       result_.slots[slot].name));
      for (size_t i = 0; i < tenants.size(); ++i) *tenants[i].offset = plan.offsets[i];
      function_.arena_bytes.push_back(plan.bytes);
    }
    return {};
  }

  const CompileResult& result_;
  const CompiledRegions& regions_;
  const uint32_t first_region_, first_constant_;
  uint32_t host_ = 0;
  fbs::FunctionT function_;
  std::vector<ValueId> constants_;
  std::map<PlacedValue, uint32_t> numbers_;
  std::map<ValueId, bool> is_output_;
};

}  // namespace

Result<BuiltFunction> build_function(const CompileResult& result, const CompiledRegions& regions,
                                     uint32_t first_region, uint32_t first_constant) {
  return FunctionBuilder(result, regions, first_region, first_constant).build();
}

}  // namespace intarsia
