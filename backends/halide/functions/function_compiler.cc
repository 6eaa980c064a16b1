#include "backends/halide/functions/function_compiler.h"

#include <algorithm>
#include <sstream>

#include "backends/halide/abi/element_types.h"
#include "backends/halide/abi/function_plan_generated.h"
#include "backends/halide/emit/glue_object.h"
#include "backends/halide/functions/generate_objects.h"
#include "backends/halide/functions/infer_sizes.h"
#include "base/flat_buffer.h"

namespace intarsia::halide {
namespace {

/// Returns the CPU level of code for a target of Halide, "x86-64-linux-avx-avx2-...". Errors: it uses what no
/// level has, so that no program can say which machines have it.
Result<std::string> cpu_level(const std::string& target) {
  constexpr std::string_view of_v3[] = {"avx", "avx2", "fma", "f16c"}, of_v4[] = {"avx512", "avx512_skylake"};
  constexpr std::string_view of_all[] = {"x86",          "64",         "linux",         "sse41",
                                         "user_context", "no_runtime", "large_buffers", "strict_float"};
  if (!target.starts_with("x86-64-linux"))
    return fail(ErrorKind::unsupported, "it was compiled for {}, want x86-64-linux", target);
  int level = 2;
  std::istringstream parts(target);
  for (std::string part; std::getline(parts, part, '-');) {
    if (std::ranges::count(of_v4, part) > 0) {
      level = 4;
    } else if (std::ranges::count(of_v3, part) > 0) {
      level = std::max(level, 3);
    } else if (std::ranges::count(of_all, part) == 0) {
      return fail(
          ErrorKind::unsupported,
          "it was compiled for '{}' of {}; leave out processor features beyond avx512_skylake, tuning "
          "for one processor, and what takes the checks out of the code",
          part, target);
    }
  }
  return fmt::format("x86-64-v{}", level);
}

Result<UserFunction> describe(const LoadedCode& code, const std::string& symbol) {
  const QueriedFunction function = TRY(QueriedFunction::find(code, symbol));
  UserFunction made;
  made.cpu = TRY(cpu_level(function.about->target));
  InferredSizes sizes = TRY(infer_sizes(function));
  function::PlanT plan;
  plan.version = function_plan_version;
  plan.symbol = symbol;
  for (size_t i = 0; i < sizes.arguments.size(); ++i) {
    const FunctionArgument& about = function.arguments()[i];
    SizedArgument& sized = sizes.arguments[i];
    const std::optional<DType> dtype = dtype_of(about.type);
    if (!dtype)
      return fail(ErrorKind::unsupported, "argument '{}' has a type that tensors do not have", sized.name);
    auto argument = std::make_unique<function::ArgumentT>();
    argument->mins = std::move(sized.mins);
    plan.arguments.push_back(std::move(argument));
    (about.kind == ArgumentKind::output_buffer ? made.outputs : made.inputs)
        .push_back({std::move(sized.name), *dtype, std::move(sized.shape)});
  }
  made.open_sizes = std::move(sizes.open);
  made.blob = pack_table<function::Plan>(plan);
  return made;
}

}  // namespace

FunctionCompiler make_function_compiler() {
  return {"halide", {glue_object(Arch::x86_64), error_glue_object(Arch::x86_64)}, describe, generate_objects};
}

}  // namespace intarsia::halide
