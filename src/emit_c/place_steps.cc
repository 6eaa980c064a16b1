#include "emit_c/place_steps.h"

#include <algorithm>

#include "base/arena_plan.h"
#include "emit_c/greatest_bytes.h"
#include "program/open_sizes.h"

namespace intarsia {
namespace {

constexpr uint64_t slack_bytes = 64;  // kernels may read a vector past the end

/// Builder of the steps of one function.
class StepsPlacer {
 public:
  StepsPlacer(const EmittedProgram& emitted, const fbs::FunctionT& function,
              const std::vector<CSymbol>& symbols)
      : emitted_(emitted), function_(function), symbols_(symbols) {
    made_.function = &function;
    made_.workspaces.resize(function.steps.size());
    made_.flows.resize(function.steps.size());
  }

  Result<CSteps> place() {
    for (size_t s = 0; s < function_.steps.size(); ++s) TRY(add_step(s));
    made_.arena_bytes =
        round_up(function_.arena_bytes.empty() ? 0 : function_.arena_bytes[host_space], tail_alignment);
    const ArenaPlan plan = plan_arena(tenants_);
    for (size_t i = 0; i < offsets_.size(); ++i) *offsets_[i] = made_.arena_bytes + plan.offsets[i];
    made_.arena_bytes += round_up(plan.bytes, tail_alignment);
    return std::move(made_);
  }

 private:
  /// Adds what a step takes besides the arena that the program has for the function: values of open sizes,
  /// parts of workspaces, and memory of branches and loops.
  Status add_step(size_t number) {
    const fbs::StepT& step = *function_.steps[number];
    const int now = static_cast<int>(number);
    for (uint32_t input : step.inputs)
      if (const auto known = tenant_of_.find(input); known != tenant_of_.end())
        tenants_[known->second].last = now;
    for (uint32_t output : step.outputs) TRY(add_output(output, now));
    if (has_bodies(step)) {
      CFlow& flow = made_.flows[number];
      add_tenant(TRY(place_flow(step, flow)), now, flow.begin);
      return {};
    }
    if (step.kind != fbs::StepKind::run) return {};
    TRY(check_region(step));
    CWorkspace& workspace = made_.workspaces[number];
    workspace.begin = step.workspace_offset;
    const uint64_t bytes = TRY(place_parts(*emitted_.regions[step.region], workspace));
    if (bytes > 0) add_tenant(bytes, now, workspace.begin);
    return {};
  }

  /// Adds memory from one step on, whose offset is set in the end.
  void add_tenant(uint64_t bytes, int step, uint64_t& offset) {
    tenants_.push_back({bytes, step, step});
    offsets_.push_back(&offset);
  }

  Status add_output(uint32_t output, int step) {
    const fbs::ValueT& value = *function_.values[output];
    if (value.storage == fbs::Storage::arena) made_.places[output] = value.offset;
    if (value.storage != fbs::Storage::bound && value.storage != fbs::Storage::dynamic) return {};
    tenant_of_[output] = tenants_.size();
    const uint64_t room = TRY(most_bytes(function_, value, symbols_));
    made_.limits.emplace_back(bytes_of_value(function_, value), room);
    add_tenant(room + slack_bytes, step, made_.places[output]);
    return {};
  }

  /// Checks that plain C can make the calls of a region.
  Status check_region(const fbs::StepT& step) const {
    const auto& calls = emitted_.regions[step.region];
    if (calls != nullptr && calls->why_not.empty()) return {};
    return fail(ErrorKind::unsupported,
                "function '{}' makes '{}' with {}, {}: cut the model there, or compile without --emit c",
                function_.name, function_.values[step.outputs[0]]->name,
                emitted_.program.regions[step.region]->backend,
                calls == nullptr ? "whose code needs a runtime" : calls->why_not);
  }

  /// Places the parts of a workspace from its beginning; returns the bytes of what is not in the function's
  /// arena already.
  Result<uint64_t> place_parts(const RegionCalls& calls, CWorkspace& workspace) {
    if (calls.is_placed) return 0;
    std::vector<Lifetime> parts;
    for (const CallWorkspace& part : calls.workspace) {
      const std::optional<GreatestBytes> most = find_greatest(part.bytes, symbols_);
      if (!most)
        return fail(ErrorKind::unsupported,
                    "function '{}' needs memory that depends on data, and that of plain C is fixed: cut the "
                    "model there",
                    function_.name);
      if (!most->is_of_all) made_.limits.emplace_back(part.bytes, most->bytes);
      workspace.rooms.push_back(most->bytes);
      parts.push_back({most->bytes + slack_bytes, part.first, part.last});
    }
    const ArenaPlan plan = plan_arena(parts);
    workspace.parts.assign(plan.offsets.begin(), plan.offsets.end());
    return plan.bytes;
  }

  /// Places the memory of a branch or a loop from its beginning; returns its bytes. Of the bodies of a
  /// branch, one runs.
  Result<uint64_t> place_flow(const fbs::StepT& step, CFlow& flow) {
    for (uint32_t i = 0; i < step.carried; ++i) {
      TRY(check_carried(step, i));
      flow.seconds.push_back(flow.body_offset);
      const fbs::ValueT& value = *function_.values[step.outputs[i]];
      flow.body_offset += round_up(TRY(most_bytes(function_, value, symbols_)) + slack_bytes, tail_alignment);
    }
    uint64_t body_bytes = 0;
    for (const auto& body : step.bodies) {
      if (!body->symbols.empty())
        return fail(ErrorKind::unsupported,
                    "function '{}' branches or loops at open sizes to make '{}', which plain C does not do: "
                    "bind the sizes (--shape), or compile without --emit c",
                    function_.name, function_.values[step.outputs[0]]->name);
      for (const std::vector<uint32_t>* ids : {&body->inputs, &body->outputs})
        for (uint32_t id : *ids) TRY(most_bytes(*body, *body->values[id], {}));
      flow.bodies.push_back(TRY(place_steps(emitted_, *body, {})));
      body_bytes = std::max(body_bytes, flow.bodies.back().arena_bytes);
    }
    return flow.body_offset + body_bytes;
  }

  /// Checks that iterations hand on values of one size.
  Status check_carried(const fbs::StepT& step, uint32_t number) const {
    const fbs::ValueT& initial = *function_.values[value_of_loop(step, number)];
    const fbs::ValueT& last = *function_.values[step.outputs[number]];
    if (sizes_of_value(function_, initial) == sizes_of_value(function_, last)) return {};
    return fail(
        ErrorKind::unsupported,
        "iterations of function '{}' make '{}' from '{}', of other sizes, and the memory of plain C is "
        "fixed: cut the model before the loop",
        function_.name, last.name, initial.name);
  }

  const EmittedProgram& emitted_;
  const fbs::FunctionT& function_;
  const std::vector<CSymbol>& symbols_;
  std::vector<Lifetime> tenants_;
  std::vector<uint64_t*> offsets_;        // where to write their places
  std::map<uint32_t, size_t> tenant_of_;  // by value
  CSteps made_;
};

}  // namespace

uint32_t value_of_loop(const fbs::StepT& step, size_t number) {
  return step.inputs[limits_of_loop(step) + number];
}

Dim bytes_of_value(const fbs::FunctionT& function, const fbs::ValueT& value) {
  Dim bytes = static_cast<int64_t>(dtype_bytes(static_cast<DType>(value.dtype), 1));
  for (const Dim& size : sizes_of_value(function, value)) bytes = bytes * size;
  return bytes;
}

Result<uint64_t> most_bytes(const fbs::FunctionT& function, const fbs::ValueT& value,
                            const std::vector<CSymbol>& symbols) {
  std::map<std::string, Dim> largest;
  for (const CSymbol& symbol : symbols) largest[symbol.name] = Dim(symbol.max);
  const Dim most = bytes_of_value(function, value).substitute(largest);
  if (!value.rank_unknown && most.is_number() && most.number() >= 0)
    return static_cast<uint64_t>(most.number());
  return fail(ErrorKind::unsupported,
              "the sizes of '{}' of function '{}' are known to a run only, from data or from a kernel of "
              "yours, and the memory of plain C is fixed: bind open sizes (--shape), or cut the model before "
              "it",
              value.name, function.name);
}

Result<CSteps> place_steps(const EmittedProgram& emitted, const fbs::FunctionT& function,
                           const std::vector<CSymbol>& symbols) {
  return StepsPlacer(emitted, function, symbols).place();
}

}  // namespace intarsia
