#include "runtime/specialized_function.h"

#include <algorithm>

namespace intarsia {
namespace {

bool is_for(const fbs::FunctionT& specialization, std::span<const int64_t> sizes) {
  return std::ranges::all_of(specialization.ranges, [&](const auto& range) {
    const auto size = static_cast<uint64_t>(sizes[range->symbol]);
    return size >= range->min && size <= range->max;
  });
}

}  // namespace

Result<std::unique_ptr<SpecializedFunction>> SpecializedFunction::make(const BoundProgram& program,
                                                                       const BoundFunction& bound,
                                                                       std::span<const Memory> arenas,
                                                                       OpenArenas& open_arenas) {
  const auto prepare = [&](const fbs::FunctionT& function) {
    return PreparedFunction::make(program, function, arenas, open_arenas);
  };
  std::unique_ptr<SpecializedFunction> made(new SpecializedFunction(TRY(prepare(*bound.function))));
  for (const fbs::FunctionT* about : bound.specializations)
    made->specializations_.push_back({*about, TRY(prepare(*about))});
  return made;
}

void SpecializedFunction::append_in_place() {
  function_->append_in_place();
  for (const Specialization& one : specializations_) one.function->append_in_place();
}

Status SpecializedFunction::run(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) {
  if (specializations_.empty()) return function_->run(inputs, outputs);
  const std::span<const int64_t> sizes = TRY(function_->find_sizes(inputs));
  const auto specialized = std::ranges::find_if(
      specializations_, [&](const Specialization& one) { return is_for(one.about, sizes); });
  return specialized == specializations_.end() ? function_->run(inputs, outputs)
                                               : specialized->function->run(inputs, outputs);
}

void SpecializedFunction::set_dump(const DumpHook& dump) {
  function_->set_dump(dump);
  for (const Specialization& one : specializations_) one.function->set_dump(dump);
}

void SpecializedFunction::set_trace(const TraceCallback& trace, bool is_profile) {
  function_->set_trace(trace, is_profile);
  for (const Specialization& one : specializations_) one.function->set_trace(trace, is_profile);
}

}  // namespace intarsia
