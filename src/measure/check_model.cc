#include "measure/check_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/files/temporary_file.h"
#include "base/fill_tensor.h"
#include "compile/program_source.h"
#include "import/import_model.h"
#include "measure/nudge_inputs.h"
#include "measure/other_inputs.h"
#include "program/print_program.h"
#include "runtime/allocate_value.h"
#include "runtime/session.h"

namespace intarsia {
namespace {

Result<std::shared_ptr<const LoadedProgram>> load_compiled(const CheckRequest& request,
                                                           const CheckTools& tools) {
  const TemporaryFile file = TRY(TemporaryFile::make("intarsia-check"));
  CompileRequest compile = request.compile;
  compile.model_path = request.path;
  compile.program_path = file.path();
  compile.dry_run = false;
  compile.stop_after.clear();
  TRY(compile_model(compile, tools.compile));
  return load_program(file.path(), tools.backends);  // keeps the file open, so it may be unlinked
}

/// Finds the model that a program is compared with.
Result<std::string> find_model(const CheckRequest& request, const LoadedProgram& program) {
  if (!request.model_path.empty()) return request.model_path;
  const fbs::ProgramT& description = program.description();
  if (description.model_path.empty())
    return fail(ErrorKind::not_found,
                "{}: does not say which model it was compiled from; name it with --model", request.path);
  const Result<uint64_t> digest = digest_model(description.model_path);
  if (!digest) {
    return fail(ErrorKind::not_found,
                "{}: the model that it was compiled from cannot be read ({}); name it with --model",
                request.path, digest.error().message);
  }
  if (*digest != description.model_digest) {
    return fail(ErrorKind::not_found,
                "{}: the model '{}' has changed since it was compiled; compile it again, or name the model "
                "with --model",
                request.path, description.model_path);
  }
  return description.model_path;
}

Result<const fbs::FunctionT*> only_function(const LoadedProgram& program) {
  const auto& functions = program.description().functions;
  if (functions.size() != 1)
    return fail("has {} functions; check compares programs with one", functions.size());
  return functions[0].get();
}

Result<Tensor> fill_input(const fbs::ValueT& value, uint64_t seed) {
  const std::optional<Tensor> tensor = allocate_value(value);
  if (!tensor) return fail("input '{}' cannot be filled, give it", value.name);
  TRY(with_context(fill_tensor(tensor->view(), seed, value.index_limit), "input '{}'", value.name));
  return *tensor;
}

/// Gathers the function's inputs: those given, and the others filled. Describes them in `notes`.
Result<std::vector<NamedValue>> gather_inputs(const fbs::FunctionT& function, const CheckRequest& request,
                                              std::vector<CheckedInput>& notes) {
  for (const NamedValue& given : request.inputs) {
    const bool known = std::ranges::any_of(
        function.inputs, [&](uint32_t id) { return function.values[id]->name == given.name; });
    if (known) continue;
    std::vector<std::string> names;
    for (uint32_t id : function.inputs) names.push_back(function.values[id]->name);
    return fail("no input '{}'; there are: {}", given.name, fmt::join(names, ", "));
  }
  std::vector<NamedValue> inputs;
  for (uint32_t id : function.inputs) {
    const fbs::ValueT& value = *function.values[id];
    const auto given = std::ranges::find(request.inputs, value.name, &NamedValue::name);
    const bool filled = given == request.inputs.end();
    inputs.push_back({value.name, filled ? TRY(fill_input(value, inputs.size())) : given->tensor});
    const Tensor& tensor = inputs.back().tensor;
    notes.push_back({value.name, std::string(dtype_name(tensor.dtype())), tensor.shape(), filled});
  }
  return inputs;
}

/// Appends the elements of a value that is not a tensor, from the backend whose region produces it.
Status append_parts(const BoundProgram& program, uint32_t id, const NamedTensor& output,
                    std::vector<NamedValue>& values) {
  const fbs::FunctionT& function = *program.functions[0].function;
  const auto makes_it = [&](const auto& step) {
    return step->kind == fbs::StepKind::run && std::ranges::find(step->outputs, id) != step->outputs.end();
  };
  const auto step = std::ranges::find_if(function.steps, makes_it);
  const RunBackend* backend =
      step == function.steps.end() ? nullptr : TRY(program.program->backend((*step)->region));
  if (backend == nullptr || backend->unpack == nullptr)
    return fail("output '{}' is not a tensor and cannot be compared", output.name);
  const std::string_view encoded = as_text(std::span(function.values[id]->encoded_type));
  const OpaqueParts parts = TRY(backend->unpack(output.owner, encoded));
  for (size_t i = 0; i < parts.tensors.size(); ++i)
    values.push_back({fmt::format("{}[{}]", output.name, i), parts.tensors[i]});
  return {};
}

/// Runs the program and returns deep copies of all outputs, so that the next run leaves them alone.
Result<std::vector<NamedValue>> run_program(Session& session, const fbs::FunctionT& function,
                                            const std::vector<NamedValue>& inputs) {
  std::vector<NamedTensor> from, to;
  for (const NamedValue& input : inputs) from.push_back({input.name, input.tensor.view(), nullptr});
  for (uint32_t id : function.outputs) to.push_back({function.values[id]->name, {}, nullptr});
  TRY(session.run(function.name, from, to));
  std::vector<NamedValue> outputs;
  for (size_t i = 0; i < to.size(); ++i) {
    if (function.values[function.outputs[i]]->dtype == 0) {
      TRY(append_parts(session.program(), function.outputs[i], to[i], outputs));
    } else {
      outputs.push_back({std::string(to[i].name), Tensor(to[i].tensor)});
    }
  }
  return outputs;
}

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

/// Measures, for outputs that are not ok, how much the oracle's own answer depends on the last digits of the
/// inputs, or of the weights.
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

/// Warns of outputs that stay the same whatever the inputs are: a comparison says little about them.
std::vector<std::string> find_constant_outputs(Session& session, const fbs::FunctionT& function,
                                               const CheckRequest& request,
                                               const std::vector<NamedValue>& inputs,
                                               const std::vector<NamedValue>& outputs) {
  std::vector<std::string> warnings;
  if (inputs.empty()) return warnings;
  const Result<std::vector<NamedValue>> others = run_program(session, function, vary_inputs(inputs));
  if (!others) return warnings;  // the other values are not valid for this model
  for (const CheckedOutput& output : compare_outputs(*others, outputs, request.tolerance)) {
    if (!output.difference.ok) continue;
    warnings.push_back(
        fmt::format("output '{}' hardly depends on the inputs: with other random inputs it is the same "
                    "within the tolerance, so that this check says little about it",
                    output.name));
  }
  return warnings;
}

/// Inputs and reference values for all plans of the program.
struct Comparison {
  const CheckRequest& request;
  const CheckTools& tools;
  const std::shared_ptr<const LoadedProgram>& program;
  const std::vector<NamedValue>& inputs;
  std::vector<NamedValue> reference = {};  // values of the oracle; empty until a plan ran
};

/// Runs the oracle or, if it cannot run the model, its substitute, with a warning.
Result<std::vector<NamedValue>> run_oracle(const Comparison& comparison, CheckResult& result) {
  const Oracle& oracle = comparison.tools.oracle;
  auto values = oracle.run(result.model_path, result.function, comparison.inputs);
  if (values || oracle.substitute == nullptr) return values;
  const Oracle& substitute = *oracle.substitute;
  auto others = substitute.run(result.model_path, result.function, comparison.inputs);
  if (!others)
    return fail(values.error().kind, "nothing to compare with: {}; {}: {}", values.error().message,
                substitute.name, others.error().message);
  result.against = substitute.name;
  result.warnings.push_back(fmt::format("compared with {}, since {} does not run this model: {}",
                                        substitute.name, oracle.name, values.error().message));
  return others;
}

/// Checks a plan, or notes that it cannot run here.
Result<CheckedPlan> check_plan(Comparison& comparison, uint32_t number, CheckResult& result) {
  const CheckRequest& request = comparison.request;
  CheckedPlan plan{.number = number};
  BindOptions options = request.bind;
  options.alternative = number;
  const auto bound = bind_program(comparison.program, options);
  const fbs::FunctionT& function = *comparison.program->description().functions[0];
  plan.targets = targets_of(comparison.program->description(),
                            number == 0 ? function : *function.alternatives[number - 1]);
  if (!bound && !is_absence(bound.error())) return tl::unexpected(bound.error());
  if (!bound) {
    plan.absence = bound.error();
    return plan;
  }
  result.threads = (*bound)->threads;
  const fbs::FunctionT& runs = *(*bound)->functions[0].function;
  Session session = TRY(Session::create(*bound));
  const std::vector<NamedValue> outputs =
      TRY(with_context(run_program(session, runs, comparison.inputs), "{} ({})", request.path, plan.targets));
  if (comparison.reference.empty()) comparison.reference = TRY(run_oracle(comparison, result));
  plan.outputs = compare_outputs(outputs, comparison.reference, request.tolerance);
  if (!plan.ok())
    measure_sensitivity(comparison.tools, result, comparison.inputs, comparison.reference, request.tolerance,
                        plan.outputs);
  const bool is_first =
      std::ranges::all_of(result.plans, [](const auto& other) { return other.absence.has_value(); });
  if (is_first)
    std::ranges::move(find_constant_outputs(session, runs, request, comparison.inputs, outputs),
                      std::back_inserter(result.warnings));
  return plan;
}

/// Checks plans in order of preference, as far as the request asks for them.
Status check_plans(Comparison& comparison, CheckResult& result) {
  const auto& alternatives = comparison.program->description().functions[0]->alternatives;
  bool any_ran = false;
  Error absences;  // libraries and devices that each plan lacks
  for (uint32_t number = 0; number <= alternatives.size(); ++number) {
    if (any_ran && !comparison.request.all_alternatives) break;
    CheckedPlan plan = TRY(check_plan(comparison, number, result));
    if (!plan.absence && !std::exchange(any_ran, true)) result.outputs = plan.outputs;
    if (plan.absence && !absences.message.contains(plan.absence->message))
      absences = {(number == 0 ? "" : absences.message + "; ") + plan.absence->message, plan.absence->kind};
    result.plans.push_back(std::move(plan));
  }
  if (!any_ran) return tl::unexpected(absences);
  result.ok =
      std::ranges::all_of(result.plans, [](const CheckedPlan& plan) { return plan.absence || plan.ok(); });
  return {};
}

}  // namespace

const Oracle& CheckTools::oracle_named(const std::string& name) const {
  return oracle.substitute != nullptr && oracle.substitute->name == name ? *oracle.substitute : oracle;
}

bool CheckedPlan::ok() const {
  return std::ranges::all_of(outputs, [](const CheckedOutput& output) { return output.difference.ok; });
}

Result<CheckResult> check_model(const CheckRequest& request, const CheckTools& tools) {
  const bool is_program = TRY(is_program_file(request.path));
  const std::shared_ptr<const LoadedProgram> program =
      is_program ? TRY(load_program(request.path, tools.backends)) : TRY(load_compiled(request, tools));
  CheckResult result;
  result.against = tools.oracle.name;
  result.model_path = is_program ? TRY(find_model(request, *program)) : request.path;
  if (is_program) TRY(with_context(verify_constants(program->file()), "{}", request.path));
  const fbs::FunctionT& function = *TRY(with_context(only_function(*program), "{}", request.path));
  result.function = function.name;
  const std::vector<NamedValue> inputs =
      TRY(with_context(gather_inputs(function, request, result.inputs), "{}", request.path));
  Comparison comparison{request, tools, program, inputs};
  TRY(check_plans(comparison, result));
  return result;
}

}  // namespace intarsia
