#include "compile/compile_precision.h"

#include "base/cpu_level.h"

namespace intarsia {
namespace {

/// Returns the request for a program that is only measured.
CompileRequest with_products(CompileRequest request, bool rounds, const std::string& path) {
  request.allows_bf16 = rounds;
  request.program_path = path;
  request.dry_run = false;
  request.print_after.clear();
  if (!rounds) request.saved_plan_path.clear();
  return request;
}

void add_error(const Result<RoundingError>& measured, PrecisionReport& report) {
  if (measured)
    report.error = *measured;
  else
    report.why_not = "the error cannot be measured: " + measured.error().message;
}

/// Compiles what ships.
Result<CompileResult> compile_to_ship(CompileRequest request, bool rounds, PrecisionReport report,
                                      const Compile& compile) {
  request.allows_bf16 = rounds;
  CompileResult result = TRY(compile(request));
  report.rounds = rounds;
  result.precision = std::move(report);
  return result;
}

}  // namespace

Result<CompileResult> compile_in_precision(const CompileRequest& request, const CompileServices& services,
                                           const Compile& compile) {
  PrecisionReport report{.asked = request.precision};
  const bool is_bounded = request.precision == Precision::automatic;
  if (const std::string why = why_no_bf16(request.cpu); is_bounded && !why.empty()) {
    report.why_not = why;
    return compile_to_ship(request, false, std::move(report), compile);
  }
  if (!services.measuring.measure_rounding || !request.stop_after.empty())
    return compile_to_ship(request, !is_bounded, std::move(report), compile);
  services.observer.progress.expect(1);
  const TemporaryFile exact = TRY(TemporaryFile::make("intarsia-exact"));
  const TemporaryFile rounded = TRY(TemporaryFile::make("intarsia-rounded"));
  TRY(compile(with_products(request, false, exact.path())));
  if (is_bounded || request.dry_run) {
    services.observer.progress.expect(1);
    TRY(compile(with_products(request, true, rounded.path())));
    add_error(services.measuring.measure_rounding(rounded.path(), exact.path(), request), report);
    const bool is_small = report.error && report.error->of_largest <= request.max_error;
    return compile_to_ship(request, is_small || !is_bounded, std::move(report), compile);
  }
  CompileResult result = TRY(compile_to_ship(request, true, report, compile));
  add_error(services.measuring.measure_rounding(request.program_path, exact.path(), request),
            *result.precision);
  return result;
}

}  // namespace intarsia
