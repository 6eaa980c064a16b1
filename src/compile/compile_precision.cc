#include "compile/compile_precision.h"

#include "base/cpu_level.h"

namespace intarsia {
namespace {

/// Returns the request for a program that is only measured.
CompileRequest with_products(CompileRequest request, DType rounds_to, const std::string& path) {
  request.rounds_to = rounds_to;
  request.program_path = path;
  request.dry_run = false;
  request.print_after.clear();
  request.saved_plan_path.clear();
  return request;
}

void add_error(const Result<RoundingError>& measured, DType tried, PrecisionReport& report) {
  report.tried = tried;
  if (measured)
    report.error = *measured;
  else
    report.why_not = "the error cannot be measured: " + measured.error().message;
}

/// Compiles what ships.
Result<CompileResult> compile_to_ship(CompileRequest request, DType rounds_to, PrecisionReport report,
                                      const Compile& compile) {
  request.rounds_to = rounds_to;
  CompileResult result = TRY(compile(request));
  report.rounds_to = rounds_to;
  result.precision = std::move(report);
  return result;
}

/// Returns the types that products may round factors to, the fastest first.
std::vector<DType> types_to_try(const CompileRequest& request, PrecisionReport& report) {
  if (request.precision != Precision::automatic) return {request.rounds_to};
  std::vector<DType> types;
  for (const DType dtype : {DType::bf16, DType::f16})
    if (const std::string why = why_no_products(request.cpu, dtype); why.empty())
      types.push_back(dtype);
    else
      report.why_not = why;
  if (!types.empty()) report.why_not.clear();
  return types;
}

}  // namespace

Result<CompileResult> compile_in_precision(const CompileRequest& request, const CompileServices& services,
                                           const Compile& compile) {
  PrecisionReport report{.asked = request.precision};
  const bool is_bounded = request.precision == Precision::automatic;
  const std::vector<DType> types = types_to_try(request, report);
  if (!services.measuring.measure_rounding || !request.stop_after.empty() || types.empty())
    return compile_to_ship(request, request.rounds_to, std::move(report), compile);
  services.observer.progress.expect(1);
  const TemporaryFile exact = TRY(TemporaryFile::make("intarsia-exact"));
  TRY(compile(with_products(request, DType::f32, exact.path())));
  if (!is_bounded && !request.dry_run) {
    CompileResult result = TRY(compile_to_ship(request, request.rounds_to, report, compile));
    add_error(services.measuring.measure_rounding(request.program_path, exact.path(), request),
              request.rounds_to, *result.precision);
    return result;
  }
  for (const DType dtype : types) {
    services.observer.progress.expect(1);
    const TemporaryFile rounded = TRY(TemporaryFile::make("intarsia-rounded"));
    TRY(compile(with_products(request, dtype, rounded.path())));
    add_error(services.measuring.measure_rounding(rounded.path(), exact.path(), request), dtype, report);
    const bool is_small = report.error && report.error->of_largest <= request.max_error;
    if (is_small || !is_bounded) return compile_to_ship(request, dtype, std::move(report), compile);
  }
  return compile_to_ship(request, DType::f32, std::move(report), compile);
}

}  // namespace intarsia
