#include "measure/measure_rounding.h"

#include <algorithm>
#include <limits>

#include "measure/compare_tensors.h"
#include "measure/run_inputs.h"
#include "runtime/bind_program.h"
#include "runtime/session.h"

namespace intarsia {
Result<RoundingError> measure_rounding(const std::string& rounded, const std::string& exact,
                                       const CompileRequest& request, std::span<const RunBackend> backends) {
  const auto rounded_program = TRY(load_program(rounded, backends)),
             exact_program = TRY(load_program(exact, backends));
  TRY(check_inputs(rounded_program->description(), request.inputs));
  const BindOptions bind{.threads = request.threads};
  Session rounded_session = TRY(Session::create(TRY(bind_program(rounded_program, bind)))),
          exact_session = TRY(Session::create(TRY(bind_program(exact_program, bind))));
  constexpr Tolerance any{.rtol = std::numeric_limits<double>::infinity()};
  RoundingError largest;
  for (const auto& function : rounded_program->description().functions) {
    const std::vector<NamedValue> inputs = TRY(complete_inputs(*function, request.inputs));
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
