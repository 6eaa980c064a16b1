// Functions with their specializations: a run takes the one that is for its sizes.
#pragma once

#include "runtime/prepared_function.h"

namespace intarsia {

class SpecializedFunction {
 public:
  /// Prepares the function and its specializations, of which one runs at a time, in the same memory. Errors
  /// are those of PreparedFunction::make.
  static Result<std::unique_ptr<SpecializedFunction>> make(const BoundProgram& program,
                                                           const BoundFunction& bound,
                                                           std::span<const Memory> arenas,
                                                           OpenArenas& open_arenas);

  std::string_view name() const { return function_->name(); }
  void append_in_place();
  Status run(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs);
  void set_dump(const DumpHook& dump);
  void set_trace(const TraceCallback& trace, bool is_profile);

 private:
  struct Specialization {
    const fbs::FunctionT& about;
    std::unique_ptr<PreparedFunction> function;
  };
  explicit SpecializedFunction(std::unique_ptr<PreparedFunction> function) : function_(std::move(function)) {}

  std::unique_ptr<PreparedFunction> function_;
  std::vector<Specialization> specializations_;
};

}  // namespace intarsia
