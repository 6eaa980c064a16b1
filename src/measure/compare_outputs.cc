#include "measure/compare_outputs.h"

#include <algorithm>
#include <cmath>

#include "import/import_model.h"
#include "measure/nudge_inputs.h"

namespace intarsia {

std::vector<CheckedOutput> compare_outputs(const std::vector<NamedValue>& actual,
                                           const std::vector<NamedValue>& reference,
                                           const Tolerance& tolerance) {
  std::vector<CheckedOutput> compared;
  for (const NamedValue& want : reference) {
    const auto got = std::ranges::find(actual, want.name, &NamedValue::name);
    Difference missing;
    missing.why = "is missing";
    compared.push_back({want.name, got == actual.end()
                                       ? missing
                                       : compare_tensors(got->tensor.view(), want.tensor.view(), tolerance)});
  }
  for (const NamedValue& got : actual) {
    if (std::ranges::find(reference, got.name, &NamedValue::name) != reference.end()) continue;
    Difference surplus;
    surplus.why = "is not in the reference";
    compared.push_back({got.name, surplus});
  }
  return compared;
}

namespace {

/// Returns the part of the difference that the oracle makes on its own; nullopt if it has no number.
std::optional<double> explained_part(const Difference& difference, const Difference& sensitivity) {
  const bool has_part =
      std::isfinite(sensitivity.max_abs) && std::isfinite(difference.max_abs) && difference.max_abs > 0;
  return has_part ? std::optional(sensitivity.max_abs / difference.max_abs) : std::nullopt;
}

std::string judge_sensitivity(const Difference& sensitivity, std::optional<double> part) {
  constexpr double enough = 0.5;
  if (sensitivity.ok) return "the model does not cause this difference";
  if (part && *part < enough) return "the model is sensitive, but not enough to cause this difference alone";
  return "the model is ill-conditioned, and rounding alone may cause this difference";
}

/// Values that an oracle computes from nudged inputs or weights.
struct NudgedValues {
  const char* what;  // part that was nudged: "inputs"
  std::vector<NamedValue> values;
};

/// Returns a text so that a user knows what to suspect: "; onnxruntime itself changes it by 0.5 (80% of this
/// difference) when ...".
std::string describe_sensitivity(const Difference& difference, const Difference& sensitivity,
                                 const std::string& oracle, const char* nudged) {
  const std::optional<double> part = explained_part(difference, sensitivity);
  return fmt::format("; {} itself changes it{}{} when the {} change by one part in a million: {}", oracle,
                     std::isfinite(sensitivity.max_abs) ? fmt::format(" by {:.3g}", sensitivity.max_abs) : "",
                     part ? fmt::format(" ({:.2g}% of this difference)", 100 * *part) : "", nudged,
                     judge_sensitivity(sensitivity, part));
}

/// Runs the oracle with nudged inputs, or with nudged weights if no input has floats to nudge.
Result<NudgedValues> run_nudged(const Oracle& oracle, const CheckTools& tools, const CheckResult& result,
                                const std::vector<NamedValue>& inputs) {
  const std::vector<NamedValue> nudged = nudge_inputs(inputs);
  if (!nudged.empty())
    return NudgedValues{"inputs", TRY(oracle.run(result.model_path, result.function, nudged))};
  const bool has_signatures = find_model_format(result.model_path) == ModelFormat::saved_model;
  Graph graph =
      TRY(import_model(result.model_path, {has_signatures ? result.function : "", tools.compile.tensorflow}));
  if (!nudge_weights(graph)) return fail("nothing to nudge");
  return NudgedValues{"weights", TRY(oracle.run_graph(graph, inputs))};
}

}  // namespace

void measure_sensitivity(const CheckTools& tools, const CheckResult& result,
                         const std::vector<NamedValue>& inputs, const std::vector<NamedValue>& reference,
                         const Tolerance& tolerance, std::vector<CheckedOutput>& outputs) {
  const Oracle& oracle = tools.oracle_named(result.against);
  const auto others = run_nudged(oracle, tools, result, inputs);
  if (!others) return;  // there is nothing to nudge, or the other values are not valid for this model
  const std::vector<CheckedOutput> changes = compare_outputs(others->values, reference, tolerance);
  for (CheckedOutput& output : outputs) {
    const auto change = std::ranges::find(changes, output.name, &CheckedOutput::name);
    if (output.difference.ok || change == changes.end()) continue;
    output.sensitivity = change->difference;
    output.difference.why +=
        describe_sensitivity(output.difference, change->difference, oracle.name, others->what);
  }
}

}  // namespace intarsia
