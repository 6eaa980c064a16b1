#include "measure/find_faults.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "measure/compare_tensors.h"
#include "measure/nudge_inputs.h"
#include "measure/other_inputs.h"

namespace intarsia {
namespace {

using Values = std::vector<NamedValue>;

/// Factor on how much a program changes its own answer: a rounding that falls the other way early in a model
/// changes more than one late in it, and programs round at many places.
constexpr double sensitivity_factor = 30;

/// Tolerances by output; an output that is missing here cannot be judged.
using Tolerances = std::map<std::string, Tolerance>;

const NamedValue* find_value(const Values& values, const std::string& name) {
  const auto at = std::ranges::find(values, name, &NamedValue::name);
  return at == values.end() ? nullptr : &*at;
}

Tolerances plain_tolerances(const Values& reference, double rtol) {
  Tolerances tolerances;
  for (const NamedValue& value : reference) tolerances[value.name] = {.rtol = rtol};
  return tolerances;
}

/// Returns why values differ; empty if they agree.
std::string explain_difference(const Values& values, const Values& reference, const Tolerances& tolerances) {
  for (const NamedValue& want : reference) {
    const NamedValue* got = find_value(values, want.name);
    const auto tolerance = tolerances.find(want.name);
    if (got == nullptr || tolerance == tolerances.end()) continue;
    const Difference difference = compare_tensors(got->tensor.view(), want.tensor.view(), tolerance->second);
    if (!difference.ok) return fmt::format("output '{}': {}", want.name, difference.why);
  }
  return {};
}

/// Measures tolerances by how much a program changes its own answer.
Tolerances measure_tolerances(const ComputeValues& program, const Values& inputs, const Values& answer,
                              double rtol) {
  const Values nudged = nudge_inputs(inputs);
  const Result<Values> other = program(nudged.empty() ? inputs : nudged);
  Tolerances tolerances;
  for (const NamedValue& value : answer) {
    const NamedValue* changed = other ? find_value(*other, value.name) : nullptr;
    if (changed == nullptr) continue;
    const Difference change = compare_tensors(changed->tensor.view(), value.tensor.view(), {.rtol = rtol});
    if (!std::isfinite(change.max_abs)) continue;
    const double largest = Tolerance().atol + sensitivity_factor * change.max_abs;
    tolerances[value.name] = {.rtol = rtol, .atol = largest};
  }
  return tolerances;
}

/// Vote of the programs on one set of inputs.
class Jury {
 public:
  Jury(std::span<const ComputeValues> programs, const Agreement& agreement, const Values& inputs)
      : programs_(programs), agreement_(agreement), inputs_(inputs) {}

  /// Adds to `faults`; programs that have one are left out.
  void run(std::vector<std::string>& faults) {
    for (size_t i = 0; i < programs_.size(); ++i) {
      if (!faults[i].empty()) continue;
      if (Result<Values> values = programs_[i](inputs_)) answers_.emplace_back(i, std::move(*values));
    }
    if (answers_.size() < 2 || all_agree()) return;
    const size_t right = find_right();
    const Tolerances allowed = tolerances_of(right);
    for (const auto& [program, values] : answers_)
      faults[program] = explain_difference(values, answers_[right].second, allowed);
  }

 private:
  bool all_agree() const {
    const Values& first = answers_[0].second;
    const Tolerances tolerances = plain_tolerances(first, agreement_.rtol);
    return std::ranges::all_of(answers_, [&](const auto& answer) {
      return explain_difference(answer.second, first, tolerances).empty();
    });
  }

  Tolerances tolerances_of(size_t answer) const {
    const auto& [program, values] = answers_[answer];
    return measure_tolerances(programs_[program], inputs_, values, agreement_.rtol);
  }

  /// Finds the answer that most agree with.
  size_t find_right() const {
    size_t right = 0;
    std::pair<size_t, bool> most{0, false};
    for (size_t i = 0; i < answers_.size(); ++i) {
      const Tolerances allowed = tolerances_of(i);
      const auto agrees = [&](const auto& other) {
        return explain_difference(other.second, answers_[i].second, allowed).empty();
      };
      const std::pair votes{static_cast<size_t>(std::ranges::count_if(answers_, agrees)),
                            agreement_.trusted == answers_[i].first};
      if (votes <= most) continue;
      right = i;
      most = votes;
    }
    return right;
  }

  std::span<const ComputeValues> programs_;
  const Agreement& agreement_;
  const Values& inputs_;
  std::vector<std::pair<size_t, Values>> answers_;  // programs and their values
};

}  // namespace

std::vector<std::string> find_faults(std::span<const ComputeValues> programs, const Values& inputs,
                                     const Agreement& agreement) {
  std::vector<std::string> faults(programs.size());
  if (programs.size() < 2) return faults;
  for (const Values& filling : {inputs, vary_inputs(inputs), edge_inputs(inputs)})
    Jury(programs, agreement, filling).run(faults);
  return faults;
}

}  // namespace intarsia
