#include "program/verify_stages.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/device_name.h"
#include "base/dtype.h"
#include "program/verify_function.h"

namespace intarsia {
namespace {

/// Values by their names.
using NamedValues = std::map<std::string_view, const fbs::ValueT*>;

NamedValues values_of(const fbs::FunctionT& function, const std::vector<uint32_t>& ids) {
  NamedValues values;
  for (uint32_t id : ids) values[function.values[id]->name] = function.values[id].get();
  return values;
}

bool are_alike(const fbs::ValueT& one, const fbs::ValueT& other) {
  return one.dtype == other.dtype && one.dims == other.dims && one.rank_unknown == other.rank_unknown &&
         one.axes == other.axes && one.encoded_type == other.encoded_type;
}

/// Returns the regions that a function runs, in the order of its steps.
std::vector<uint32_t> regions_run(const fbs::FunctionT& function) {
  std::vector<uint32_t> regions;
  for (const auto& step : function.steps)
    if (step->kind == fbs::StepKind::run) regions.push_back(step->region);
  return regions;
}

Status verify_executor(const std::string& device, const std::string& kind) {
  const DeviceName name = TRY(with_context(DeviceName::parse(device), "executor '{}'", device));
  if (name.kind != kind) return fail("executor '{}' for a slot of kind '{}'", device, kind);
  return {};
}

Status verify_executors(const fbs::ProgramT& program, const fbs::StageT& stage) {
  if (stage.slot >= program.slots.size()) return fail("slot {} of {}", stage.slot, program.slots.size());
  if (stage.executors.empty()) return fail("no executor");
  for (const std::string& device : stage.executors)
    TRY(verify_executor(device, program.slots[stage.slot]->kind));
  return {};
}

/// Verification that goes through the stages in their order.
class StageVerification {
 public:
  StageVerification(const fbs::ProgramT& program, const fbs::FunctionT& whole)
      : program_(program),
        inputs_(values_of(whole, whole.inputs)),
        outputs_(values_of(whole, whole.outputs)) {
    for (uint32_t region : regions_run(whole)) left_.insert(region);
  }

  Status add(const fbs::StageT& stage) {
    if (stage.function == nullptr) return fail("no function");
    const fbs::FunctionT& function = *stage.function;
    TRY(verify_executors(program_, stage));
    TRY(verify_function(program_, function, true));
    if (!function.alternatives.empty() || !function.stages.empty() || !function.specializations.empty())
      return fail("it has alternatives, specializations or stages of its own");
    if (function.name.empty() || !names_.insert(function.name).second)
      return fail("its name '{}' is empty or another stage's", function.name);
    for (uint32_t region : regions_run(function))
      if (left_.extract(region).empty())
        return fail("region {} is not the function's, or runs twice", region);
    TRY(verify_inputs(function));
    return add_outputs(function);
  }

  Status finish() const {
    if (!left_.empty()) return fail("no stage runs region {}", *left_.begin());
    for (const auto& [name, value] : outputs_)
      if (!made_.contains(name)) return fail("no stage makes output '{}'", name);
    return {};
  }

 private:
  Status verify_inputs(const fbs::FunctionT& stage) const {
    for (const auto& [name, value] : values_of(stage, stage.inputs)) {
      const auto is_in = [&](const NamedValues& values) {
        const auto at = values.find(name);
        return at != values.end() && are_alike(*at->second, *value);
      };
      if (!is_in(inputs_) && !is_in(made_))
        return fail(
            "input '{}' is neither an input of the function nor made by an earlier stage as it is read",
            name);
    }
    return {};
  }

  Status add_outputs(const fbs::FunctionT& stage) {
    for (const auto& [name, value] : values_of(stage, stage.outputs)) {
      const auto outer = outputs_.find(name);
      if (outer != outputs_.end() && !are_alike(*outer->second, *value))
        return fail("output '{}' is not as the function's", name);
      if (value->dtype == 0 && value->encoded_type.empty())
        return fail("output '{}' is opaque, and of what type is not told", name);
      if (!made_.emplace(name, value).second) return fail("output '{}' is made by two stages", name);
    }
    return {};
  }

  const fbs::ProgramT& program_;
  const NamedValues inputs_, outputs_;
  NamedValues made_;
  std::multiset<uint32_t> left_;  // regions that no stage has run yet
  std::set<std::string_view> names_;
};

}  // namespace

Status verify_stages(const fbs::ProgramT& program, const fbs::FunctionT& function) {
  if (function.stages.empty()) return {};
  StageVerification verification(program, function);
  for (size_t i = 0; i < function.stages.size(); ++i)
    TRY(with_context(verification.add(*function.stages[i]), "stage {}", i));
  return verification.finish();
}

}  // namespace intarsia
