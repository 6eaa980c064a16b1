#include "measure/check_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/files/temporary_file.h"
#include "compile/program_source.h"
#include "measure/check_sizes.h"
#include "measure/compare_outputs.h"
#include "measure/other_inputs.h"
#include "measure/run_inputs.h"
#include "program/open_sizes.h"
#include "program/print_program.h"
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

/// Gathers the function's inputs: those given, and the others filled, at `shapes` if there are any.
/// Describes them in `notes`.
Result<std::vector<NamedValue>> gather_inputs(const fbs::FunctionT& function, const CheckRequest& request,
                                              const std::map<std::string, RequestedShape>& shapes,
                                              std::vector<CheckedInput>& notes) {
  for (const NamedValue& given : request.inputs) {
    const bool known = std::ranges::any_of(
        function.inputs, [&](uint32_t id) { return function.values[id]->name == given.name; });
    if (known) continue;
    std::vector<std::string> names;
    for (uint32_t id : function.inputs) names.push_back(function.values[id]->name);
    return fail("no input '{}'; there are: {}", given.name, fmt::join(names, ", "));
  }
  std::vector<NamedValue> inputs, at_shapes;
  if (!shapes.empty())
    at_shapes = TRY(fill_inputs(function, TRY(sizes_of_shapes(function, request.inputs, shapes))));
  for (uint32_t id : function.inputs) {
    const fbs::ValueT& value = *function.values[id];
    const auto given = std::ranges::find(request.inputs, value.name, &NamedValue::name);
    const bool filled = given == request.inputs.end();
    if (!filled)
      inputs.push_back(*given);
    else if (!at_shapes.empty())
      inputs.push_back(at_shapes[inputs.size()]);
    else
      inputs.push_back({value.name, TRY(fill_input(value, inputs.size()))});
    const Tensor& tensor = inputs.back().tensor;
    notes.push_back({value.name, std::string(dtype_name(tensor.dtype())), tensor.shape(), filled});
  }
  return inputs;
}

/// Warns of outputs that stay the same whatever the inputs are: a comparison says little about them.
std::vector<std::string> find_constant_outputs(Session& session, const fbs::FunctionT& function,
                                               const CheckRequest& request,
                                               const std::vector<NamedValue>& inputs,
                                               const std::vector<NamedValue>& outputs) {
  std::vector<std::string> warnings;
  if (inputs.empty()) return warnings;
  const Result<std::vector<NamedValue>> others = run_on_inputs(session, function, vary_inputs(inputs));
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

/// Values at sizes other than those of the first comparison.
struct OtherSizes {
  std::vector<int64_t> sizes;  // by symbol
  size_t result = 0;           // its place in CheckResult::sizes
  /// Values of the oracle, or its error; empty until a plan ran.
  std::optional<Result<std::vector<NamedValue>>> reference = {};
};

/// Inputs and reference values for all plans of the program.
struct Comparison {
  const CheckRequest& request;
  const CheckTools& tools;
  const std::shared_ptr<const LoadedProgram>& program;
  const std::vector<NamedValue>& inputs;
  std::vector<NamedValue> reference = {};  // values of the oracle; empty until a plan ran
  std::vector<OtherSizes> others = {};     // other sizes to compare at
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

bool ends_the_check(const Error& error) {
  return error.kind == ErrorKind::cancelled || error.kind == ErrorKind::device_lost;
}

/// Describes in one line why there is nothing to compare with.
std::string describe_refusal(const std::string& oracle, const Error& refusal, bool by_both) {
  std::string text =
      by_both ? "refused by both: " : fmt::format("refused by {}, not by the program: ", oracle);
  text += refusal.message;
  std::ranges::replace(text, '\n', ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// Checks a plan at other sizes. Where the oracle refuses them there is nothing to compare with.
Status check_at(OtherSizes& at, Comparison& comparison, Session& session, const fbs::FunctionT& runs,
                CheckedPlan plan, CheckResult& result) {
  const CheckTools& tools = comparison.tools;
  CheckedSizes& checked = result.sizes[at.result];
  const fbs::FunctionT& function = *comparison.program->description().functions[0];
  const std::vector<NamedValue> inputs = TRY(fill_inputs(function, at.sizes));
  if (!at.reference)
    at.reference = tools.oracle_named(result.against).run(result.model_path, result.function, inputs);
  const Result<std::vector<NamedValue>> outputs = run_on_inputs(session, runs, inputs);
  if (!outputs && ends_the_check(outputs.error())) return tl::unexpected(outputs.error());
  if (!*at.reference) {
    if (checked.why_not.empty() || outputs)
      checked.why_not = describe_refusal(result.against, at.reference->error(), !outputs);
    return {};
  }
  if (!outputs) {
    plan.failure = outputs.error();
  } else {
    plan.outputs = compare_outputs(*outputs, **at.reference, comparison.request.tolerance);
    if (!plan.ok())
      measure_sensitivity(tools, result, inputs, **at.reference, comparison.request.tolerance, plan.outputs);
  }
  if (!plan.ok() && checked.plans.empty() && result.bad_inputs.empty()) result.bad_inputs = inputs;
  checked.plans.push_back(std::move(plan));
  return {};
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
  const std::vector<NamedValue> outputs = TRY(
      with_context(run_on_inputs(session, runs, comparison.inputs), "{} ({})", request.path, plan.targets));
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
  if (is_first && !plan.ok() && !result.sizes.empty()) result.bad_inputs = comparison.inputs;
  for (OtherSizes& other : comparison.others) {
    TRY(check_not_cancelled(comparison.tools.compile.observer));
    TRY(check_at(other, comparison, session, runs, {.number = number, .targets = plan.targets}, result));
  }
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
  if (!result.sizes.empty()) {
    std::ranges::copy_if(result.plans, std::back_inserter(result.sizes[0].plans),
                         [](const CheckedPlan& plan) { return !plan.absence; });
    result.ok &= std::ranges::all_of(result.sizes, &CheckedSizes::ok);
  }
  return {};
}

/// Notes the open sizes of the inputs, and chooses others to compare at.
Status choose_sizes(const fbs::FunctionT& function, bool has_shapes, Comparison& comparison,
                    CheckResult& result) {
  if (function.symbols.empty()) return {};
  const auto note = [&](const SizesToCheck& one) {
    CheckedSizes& checked = result.sizes.emplace_back();
    for (size_t i = 0; i < one.sizes.size(); ++i)
      checked.sizes.emplace_back(function.symbols[i]->name, one.sizes[i]);
    checked.why_not = one.why_not;
  };
  const std::vector<int64_t> first = TRY(sizes_of_inputs(function, comparison.inputs));
  note({first});
  const bool is_given = !comparison.request.inputs.empty() || has_shapes;
  if (is_given || !comparison.request.several_sizes) return {};
  for (SizesToCheck& one : choose_sizes_to_check(function, first)) {
    note(one);
    if (one.why_not.empty()) comparison.others.push_back({std::move(one.sizes), result.sizes.size() - 1});
  }
  return {};
}

/// Returns the size of an input's axis as a compile takes it.
RequestedSize request_size(const fbs::FunctionT& function, const fbs::ValueT& value, size_t axis,
                           int64_t size) {
  if (value.dims[axis] >= 0 || axis >= value.sizes.size() || value.sizes[axis] == 0) return {.number = size};
  const std::optional<uint32_t> number = symbol_of(*function.sizes[value.sizes[axis] - 1]);
  if (!number) return {};
  const fbs::SymbolT& symbol = *function.symbols[*number];
  return {.name = symbol.name,
          .range = SizeRange{static_cast<int64_t>(symbol.min), static_cast<int64_t>(symbol.max)},
          .tuned = {symbol.tuned.begin(), symbol.tuned.end()}};
}

std::map<std::string, RequestedShape> request_shapes(const fbs::FunctionT& function,
                                                     const std::vector<CheckedInput>& inputs) {
  std::map<std::string, RequestedShape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fbs::ValueT& value = *function.values[function.inputs[i]];
    RequestedShape shape = RequestedShape::fixed(inputs[i].shape);
    for (size_t axis = 0; axis < shape.sizes.size(); ++axis)
      shape.sizes[axis] = request_size(function, value, axis, inputs[i].shape[axis]);
    shapes[value.name] = std::move(shape);
  }
  return shapes;
}

}  // namespace

const Oracle& CheckTools::oracle_named(const std::string& name) const {
  return oracle.substitute != nullptr && oracle.substitute->name == name ? *oracle.substitute : oracle;
}

bool CheckedPlan::ok() const {
  return !failure &&
         std::ranges::all_of(outputs, [](const CheckedOutput& output) { return output.difference.ok; });
}

bool CheckedSizes::ok() const { return std::ranges::all_of(plans, &CheckedPlan::ok); }

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
  const std::map<std::string, RequestedShape> shapes =
      is_program ? request.compile.shapes : std::map<std::string, RequestedShape>();
  const std::vector<NamedValue> inputs =
      TRY(with_context(gather_inputs(function, request, shapes, result.inputs), "{}", request.path));
  result.shapes = request_shapes(function, result.inputs);
  Comparison comparison{request, tools, program, inputs};
  TRY(with_context(choose_sizes(function, !shapes.empty(), comparison, result), "{}", request.path));
  TRY(check_plans(comparison, result));
  return result;
}

}  // namespace intarsia
