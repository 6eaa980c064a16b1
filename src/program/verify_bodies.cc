#include "program/verify_bodies.h"

#include <algorithm>
#include <span>

#include "base/dtype.h"
#include "program/verify_function.h"

namespace intarsia {
namespace {

using Ids = std::span<const uint32_t>;

/// Checks that a value is a tensor of this type with a single element, as far as its sizes are known.
Status verify_scalar(const fbs::ValueT& value, DType dtype) {
  const bool is_one = !value.rank_unknown &&
                      std::ranges::all_of(value.dims, [](int64_t size) { return size == 1 || size == -1; });
  if (static_cast<DType>(value.dtype) == dtype && is_one) return {};
  return fail("'{}' is not one {}", value.name, dtype_name(dtype));
}

Status verify_alike(const fbs::ValueT& outer, const fbs::ValueT& inner) {
  if (outer.dtype == inner.dtype) return {};
  return fail("'{}' has another dtype than the body's '{}'", outer.name, inner.name);
}

/// Step with bodies, in its function.
class BodiesVerification {
 public:
  BodiesVerification(const fbs::ProgramT& program, const fbs::FunctionT& function, const fbs::StepT& step)
      : program_(program), function_(function), step_(step) {}

  Status verify() const {
    TRY(verify_place());
    for (size_t i = 0; i < step_.bodies.size(); ++i)
      TRY(with_context(verify_body(*step_.bodies[i]), "body {}", i));
    return step_.kind == fbs::StepKind::branch ? verify_branch() : verify_loop();
  }

 private:
  Status verify_place() const {
    if (std::ranges::find(program_.needs, calls_feature) == program_.needs.end())
      return fail("it has bodies, but the program does not need '{}'", calls_feature);
    if (step_.region >= program_.regions.size())
      return fail("region {} of {}", step_.region, program_.regions.size());
    if (program_.slots[program_.regions[step_.region]->slot]->space != host_space)
      return fail("region {} is not on the host", step_.region);
    for (const std::vector<uint32_t>* ids : {&step_.inputs, &step_.outputs})
      for (uint32_t id : *ids) TRY(verify_value(*function_.values[id]));
    return {};
  }

  static Status verify_value(const fbs::ValueT& value) {
    const auto dtype = static_cast<DType>(value.dtype);
    const bool is_plain = dtype != DType::undefined && dtype != DType::string && dtype_bits(dtype) % 8 == 0;
    if (!is_plain) return fail("'{}' does not consist of numbers of whole bytes", value.name);
    if (value.space != host_space || !value.axes.empty())
      return fail("'{}' is not in the host's memory in the source's layout", value.name);
    return {};
  }

  Status verify_body(const fbs::FunctionT& body) const {
    if (!body.alternatives.empty() || !body.specializations.empty() || !body.stages.empty())
      return fail("it has other ways to run it, or stages");
    TRY(verify_function(program_, body));
    for (const auto& value : body.values)
      if (value->space != host_space) return fail("'{}' is not in the host's memory", value->name);
    for (const std::vector<uint32_t>* ids : {&body.inputs, &body.outputs})
      for (uint32_t id : *ids) TRY(verify_value(*body.values[id]));
    return {};
  }

  /// Checks that outer values are of the types of a body's.
  Status verify_passed(const fbs::FunctionT& body, Ids outer, Ids inner) const {
    for (size_t i = 0; i < outer.size(); ++i)
      TRY(verify_alike(*function_.values[outer[i]], *body.values[inner[i]]));
    return {};
  }

  Status verify_branch() const {
    if (step_.bodies.size() != 2) return fail("{} bodies; want 2", step_.bodies.size());
    const size_t first = step_.bodies[0]->inputs.size(), second = step_.bodies[1]->inputs.size();
    if (step_.inputs.size() != 1 + first + second)
      return fail("{} inputs for a condition and {} and {} inputs of bodies", step_.inputs.size(), first,
                  second);
    TRY(verify_scalar(*function_.values[step_.inputs[0]], DType::boolean));
    const Ids inputs = Ids(step_.inputs).subspan(1);
    TRY(verify_passed(*step_.bodies[0], inputs.first(first), step_.bodies[0]->inputs));
    TRY(verify_passed(*step_.bodies[1], inputs.subspan(first), step_.bodies[1]->inputs));
    for (const auto& body : step_.bodies) {
      if (body->outputs.size() != step_.outputs.size())
        return fail("{} outputs, of which a body makes {}", step_.outputs.size(), body->outputs.size());
      TRY(verify_passed(*body, step_.outputs, body->outputs));
    }
    return {};
  }

  Status verify_loop() const {
    if (step_.bodies.size() != 1) return fail("{} bodies; want 1", step_.bodies.size());
    const fbs::FunctionT& body = *step_.bodies[0];
    const size_t limits = limits_of_loop(step_);
    const size_t checks = step_.checks_condition;
    const uint64_t moving = uint64_t{step_.carried} + step_.scanned;
    if (step_.inputs.size() < limits + moving || body.inputs.size() != step_.inputs.size() - limits + 1)
      return fail("{} inputs for a body of {}", step_.inputs.size(), body.inputs.size());
    if (step_.outputs.size() < step_.carried || body.outputs.size() != checks + step_.outputs.size())
      return fail("{} outputs for a body of {}", step_.outputs.size(), body.outputs.size());
    if (!step_.has_trip_count && step_.scanned == 0 && !step_.checks_condition)
      return fail("a loop that nothing ends");
    TRY(verify_limits());
    TRY(verify_scalar(*body.values[body.inputs[0]], DType::i64));
    if (step_.checks_condition) TRY(verify_scalar(*body.values[body.outputs[0]], DType::boolean));
    const Ids passed = Ids(step_.inputs).subspan(limits);
    TRY(verify_passed(body, passed, Ids(body.inputs).subspan(1)));
    TRY(verify_passed(body, step_.outputs, Ids(body.outputs).subspan(checks)));
    for (uint32_t id : passed.subspan(step_.carried, step_.scanned))
      if (function_.values[id]->rank_unknown || function_.values[id]->dims.empty())
        return fail("'{}' has no first axis to scan", function_.values[id]->name);
    for (size_t i = step_.carried; i < step_.outputs.size(); ++i)
      TRY(verify_collected(*function_.values[step_.outputs[i]], *body.values[body.outputs[checks + i]]));
    return {};
  }

  Status verify_limits() const {
    if (step_.has_trip_count) TRY(verify_scalar(*function_.values[step_.inputs[0]], DType::i64));
    if (!step_.has_condition) return {};
    return verify_scalar(*function_.values[step_.inputs[step_.has_trip_count]], DType::boolean);
  }

  /// Checks that a tensor of all results has one axis more than a result.
  static Status verify_collected(const fbs::ValueT& all, const fbs::ValueT& one) {
    if (!all.rank_unknown && all.dims.empty()) return fail("'{}' has no axis for its iterations", all.name);
    if (all.rank_unknown || one.rank_unknown || all.dims.size() == one.dims.size() + 1) return {};
    return fail("'{}' does not have one axis more than the body's '{}'", all.name, one.name);
  }

  const fbs::ProgramT& program_;
  const fbs::FunctionT& function_;
  const fbs::StepT& step_;
};

}  // namespace

Status verify_bodies(const fbs::ProgramT& program, const fbs::FunctionT& function, const fbs::StepT& step) {
  return BodiesVerification(program, function, step).verify();
}

}  // namespace intarsia
