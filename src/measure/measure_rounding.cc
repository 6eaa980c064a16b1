#include "measure/measure_rounding.h"

#include <algorithm>
#include <limits>

#include "measure/compare_tensors.h"
#include "measure/run_inputs.h"
#include "runtime/bind_program.h"
#include "runtime/session.h"

namespace intarsia {
namespace {

/// Returns the inputs of a function: those of the request, and the others filled.
Result<std::vector<NamedValue>> inputs_of(const fbs::FunctionT& function, const CompileRequest& request) {
  std::vector<NamedValue> inputs;
  for (uint32_t id : function.inputs) {
    const fbs::ValueT& value = *function.values[id];
    const auto given = std::ranges::find(request.inputs, value.name, &NamedValue::name);
    inputs.push_back(
        {value.name, given != request.inputs.end() ? given->tensor : TRY(fill_input(value, inputs.size()))});
  }
  return inputs;
}

Status check_names(const fbs::ProgramT& program, const CompileRequest& request) {
  for (const NamedValue& given : request.inputs) {
    const auto has_it = [&](const auto& function) {
      return std::ranges::any_of(function->inputs,
                                 [&](uint32_t id) { return function->values[id]->name == given.name; });
    };
    if (std::ranges::none_of(program.functions, has_it))
      return fail("no input '{}' to measure the error with", given.name);
  }
  return {};
}

}  // namespace

Result<RoundingError> measure_rounding(const std::string& rounded, const std::string& exact,
                                       const CompileRequest& request, std::span<const RunBackend> backends) {
  const auto rounded_program = TRY(load_program(rounded, backends)),
             exact_program = TRY(load_program(exact, backends));
  TRY(check_names(rounded_program->description(), request));
  const BindOptions bind{.threads = request.threads};
  Session rounded_session = TRY(Session::create(TRY(bind_program(rounded_program, bind)))),
          exact_session = TRY(Session::create(TRY(bind_program(exact_program, bind))));
  constexpr Tolerance any{.rtol = std::numeric_limits<double>::infinity()};
  RoundingError largest;
  for (const auto& function : rounded_program->description().functions) {
    const std::vector<NamedValue> inputs = TRY(inputs_of(*function, request));
    const std::vector<NamedValue> got = TRY(run_on_inputs(rounded_session, *function, inputs)),
                                  want = TRY(run_on_inputs(exact_session, *function, inputs));
    for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
      const Difference difference = compare_tensors(got[i].tensor.view(), want[i].tensor.view(), any);
      if (!(difference.max_rel > largest.of_largest) && !largest.output.empty()) continue;
      largest = {function->name, got[i].name, difference.max_rel};
    }
  }
  return largest;
}

}  // namespace intarsia
