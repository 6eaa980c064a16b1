#include "emit_c/c_program.h"

#include "base/requested_shape.h"
#include "emit_c/c_text.h"
#include "emit_c/place_steps.h"
#include "program/open_sizes.h"

namespace intarsia {
namespace {

/// Builder of one function.
class FunctionMaker {
 public:
  FunctionMaker(const EmittedProgram& emitted, const fbs::FunctionT& function, std::string prefix,
                const EmitCOptions& options)
      : emitted_(emitted), function_(function), options_(options) {
    made_.name = function.name;
    made_.prefix = std::move(prefix);
  }

  Result<CFunction> make() {
    TRY(add_arguments());
    made_.steps = TRY(place_steps(emitted_, function_, made_.symbols));
    return std::move(made_);
  }

 private:
  Status add_arguments() {
    CScope input_scope(options_.names), output_scope(options_.names);
    for (const auto& symbol : function_.symbols) {
      CSymbol to{symbol->name, TRY(input_scope.add("size", symbol->name)), static_cast<int64_t>(symbol->min),
                 static_cast<int64_t>(symbol->max)};
      if (!SizeRange{to.min, to.max}.has_end())
        return fail(
            ErrorKind::unsupported,
            "the size '{}' of function '{}' has no largest value, and the memory of plain C is fixed: give "
            "a range with --shape, as in --shape {}=1..32x...",
            symbol->name, function_.name, first_input());
      made_.symbols.push_back(std::move(to));
    }
    for (uint32_t input : function_.inputs)
      made_.inputs.push_back(TRY(make_argument("input", input, input_scope)));
    for (uint32_t output : function_.outputs)
      made_.outputs.push_back(TRY(make_argument("output", output, output_scope)));
    return {};
  }

  std::string first_input() const {
    return function_.inputs.empty() ? "INPUT" : function_.values[function_.inputs[0]]->name;
  }

  Result<CArgument> make_argument(const char* what, uint32_t number, CScope& scope) const {
    const fbs::ValueT& value = *function_.values[number];
    CArgument to{number, value.name, TRY(scope.add(what, value.name)), static_cast<DType>(value.dtype),
                 sizes_of_value(function_, value)};
    if (*c_type(to.dtype) == '\0')
      return fail(ErrorKind::unsupported,
                  "{} '{}' of function '{}' has type {}, which plain C has not: convert it in the model",
                  what, value.name, function_.name,
                  value.dtype == 0 ? "of a sequence" : dtype_name(to.dtype));
    to.most_bytes = TRY(most_bytes(function_, value, made_.symbols));
    return to;
  }

  const EmittedProgram& emitted_;
  const fbs::FunctionT& function_;
  const EmitCOptions& options_;
  CFunction made_;
};

}  // namespace

Result<CProgram> make_c_program(const EmittedProgram& emitted, const std::string& prefix,
                                const EmitCOptions& options) {
  CProgram program{prefix, {}};
  CScope scope(options.names);
  for (const auto& function : emitted.program.functions) {
    const bool is_only = emitted.program.functions.size() == 1;
    const std::string identifier = is_only ? "" : TRY(scope.add("function", function->name));
    program.functions.push_back(
        TRY(FunctionMaker(emitted, *function, is_only ? prefix : prefix + "_" + identifier, options).make()));
  }
  return program;
}

}  // namespace intarsia
