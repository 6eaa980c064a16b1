#include "program/verify_function.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "program/open_sizes.h"
#include "program/verify_bodies.h"

namespace intarsia {
namespace {

using fbs::Storage;

bool is_fixed(const fbs::ValueT& value) {
  return !value.rank_unknown && std::ranges::all_of(value.dims, [](int64_t size) { return size >= 0; });
}

/// Checks whether the sizes are known once the function's symbols are.
bool is_told(const fbs::ValueT& value) {
  for (size_t axis = 0; axis < value.dims.size(); ++axis)
    if (value.dims[axis] < 0 && (axis >= value.sizes.size() || value.sizes[axis] == 0)) return false;
  return !value.rank_unknown;
}

/// State of a function's verification.
struct Verification {
  const fbs::ProgramT& program;
  const fbs::FunctionT& function;
  bool is_stage;
  std::vector<bool> ready;           // values that an earlier step has written, inputs and constants
  std::vector<uint64_t> arena_ends;  // one per space: end of the last value or workspace
};

Status verify_arenas(const Verification& state) {
  if (state.function.arena_bytes.size() != state.program.spaces.size()) {
    return fail("{} arenas for {} spaces", state.function.arena_bytes.size(), state.program.spaces.size());
  }
  for (uint64_t bytes : state.function.arena_bytes) {
    if (bytes > max_arena_bytes) return fail("an arena of {} bytes", bytes);
  }
  return {};
}

/// Checks that no session takes more memory than its steps can use.
Status verify_arenas_are_used(const Verification& state) {
  for (size_t space = 0; space < state.arena_ends.size(); ++space) {
    const uint64_t arena = state.function.arena_bytes[space];
    if (arena <= round_up(state.arena_ends[space], tail_alignment)) continue;
    return fail("an arena of {} bytes in space '{}', of which {} are used", arena,
                state.program.spaces[space]->name, state.arena_ends[space]);
  }
  return {};
}

bool on_host(const fbs::ValueT& value) { return value.space == host_space; }

Status verify_in_arena(Verification& state, uint32_t space, uint64_t offset, uint64_t bytes) {
  const uint64_t arena = state.function.arena_bytes[space];
  if (offset % tail_alignment != 0) return fail("offset {} is not a multiple of 64", offset);
  if (offset > arena || bytes > arena - offset) {
    return fail("{} bytes at {} do not fit in space '{}''s arena of {} bytes", bytes, offset,
                state.program.spaces[space]->name, arena);
  }
  state.arena_ends[space] = std::max(state.arena_ends[space], offset + bytes);
  return {};
}

Status verify_constant(const Verification& state, const fbs::ValueT& value) {
  if (value.constant >= state.program.constants.size()) {
    return fail("constant {} of {}", value.constant, state.program.constants.size());
  }
  const fbs::ConstantT& constant = *state.program.constants[value.constant];
  if (value.rank_unknown || value.dtype != constant.dtype || value.dims != constant.dims) {
    return fail("its type is not that of constant {}", value.constant);
  }
  if (!on_host(value) && static_cast<DType>(value.dtype) == DType::string)
    return fail("strings outside the host");
  return {};
}

/// Checks that only values of whole bytes that pass between regions have another layout than the source's.
Status verify_axes(const Verification& state, const fbs::ValueT& value, bool is_fixed) {
  if (value.axes.empty()) return {};
  std::vector<uint8_t> axes = value.axes, each(value.dims.size());
  std::ranges::sort(axes);
  std::iota(each.begin(), each.end(), uint8_t{0});
  if (axes != each) return fail("axes that are not those of its {} sizes, each once", value.dims.size());
  const bool is_exchanged =
      state.is_stage && (value.storage == Storage::input || value.storage == Storage::output);
  const bool is_between = value.storage == Storage::arena || is_exchanged;
  if (!is_fixed || !is_between || dtype_bits(static_cast<DType>(value.dtype)) % 8 != 0)
    return fail("axes, though it is not a tensor of known size between regions");
  return {};
}

Status verify_value(Verification& state, const fbs::ValueT& value) {
  const DType dtype = static_cast<DType>(value.dtype);
  if (value.dtype >= dtype_count) return fail("unknown dtype {}", value.dtype);
  if (value.space >= state.program.spaces.size())
    return fail("space {} of {}", value.space, state.program.spaces.size());
  if (value.dims.size() > max_rank) return fail("rank {}", value.dims.size());
  if (std::ranges::any_of(value.dims, [](int64_t size) { return size < -1; })) return fail("a size below -1");
  if (value.rank_unknown && !value.dims.empty()) return fail("sizes, though its rank is unknown");
  const bool opaque = dtype == DType::undefined;
  const bool fixed = is_fixed(value) && !opaque;
  const uint64_t bytes =
      fixed ? dtype_bytes(dtype, static_cast<size_t>(TRY(checked_elements(value.dims)))) : 0;
  TRY(verify_axes(state, value, fixed));
  switch (value.storage) {
    case Storage::input:
      return on_host(value) ? Status() : fail("an input that is not in the host's memory");
    case Storage::output:
      if (opaque || !is_told(value)) return fail("an output of unknown size; want storage dynamic");
      return on_host(value) ? Status() : fail("an output that is not in the host's memory");
    case Storage::arena:
      if (!fixed || dtype == DType::string)
        return fail("in the arena, though its size in bytes is not known");
      return verify_in_arena(state, value.space, value.offset, bytes);
    case Storage::dynamic:
      return {};
    case Storage::constant:
      return verify_constant(state, value);
    case Storage::bound:
      if (fixed || opaque || dtype == DType::string || !is_told(value))
        return fail("in memory that a run chooses, though its sizes are not expressions");
      return {};
  }
  return fail("unknown storage {}", static_cast<int>(value.storage));
}

Status verify_boundary(const Verification& state, const std::vector<uint32_t>& boundary,
                       std::string_view what) {
  std::set<std::string_view> names;
  for (uint32_t id : boundary) {
    if (id >= state.function.values.size())
      return fail("{} is value {} of {}", what, id, state.function.values.size());
    const fbs::ValueT& value = *state.function.values[id];
    if (value.name.empty() || !names.insert(value.name).second) {
      return fail("{} name '{}' is empty or duplicated", what, value.name);
    }
    const bool legal = what == "input"
                           ? value.storage == Storage::input
                           : value.storage == Storage::output || value.storage == Storage::dynamic;
    if (!legal) return fail("{} '{}' has storage {}", what, value.name, fbs::EnumNameStorage(value.storage));
    if (!on_host(value)) return fail("{} '{}' is not in the host's memory", what, value.name);
  }
  return {};
}

/// Checks that every value in a caller's buffer is an input or output of the function.
Status verify_callers_values(const Verification& state) {
  std::vector<bool> known(state.function.values.size(), false);
  for (uint32_t id : state.function.inputs) known[id] = true;
  for (uint32_t id : state.function.outputs) known[id] = true;
  for (size_t i = 0; i < known.size(); ++i) {
    const fbs::ValueT& value = *state.function.values[i];
    if (!known[i] && (value.storage == Storage::input || value.storage == Storage::output)) {
      return fail("value '{}' has storage {} but is not on the function's boundary", value.name,
                  fbs::EnumNameStorage(value.storage));
    }
  }
  return {};
}

/// Checks that a value that continues an input is an output that can begin with it.
Status verify_continued(const Verification& state, uint32_t id) {
  const fbs::FunctionT& function = state.function;
  const fbs::ValueT& value = *function.values[id];
  if (value.continues == 0) return {};
  if (std::ranges::find(function.outputs, id) == function.outputs.end())
    return fail("it continues an input, though it is not an output");
  if (value.continues > function.inputs.size())
    return fail("it continues input {} of {}", value.continues - 1, function.inputs.size());
  const fbs::ValueT& input = *function.values[function.inputs[value.continues - 1]];
  const size_t axis = value.continued_axis, rank = value.dims.size();
  const bool is_tensor = value.dtype != 0 && static_cast<DType>(value.dtype) != DType::string;
  bool fits = is_tensor && value.dtype == input.dtype && rank == input.dims.size() && axis < rank &&
              value.axes.empty() && input.axes.empty();
  for (size_t i = 0; fits && i < rank; ++i)
    fits = i == axis || value.dims[i] < 0 || input.dims[i] < 0 || value.dims[i] == input.dims[i];
  return fits ? Status() : fail("it cannot continue input '{}' on axis {}", input.name, axis);
}

Status verify_run(Verification& state, const fbs::StepT& step) {
  if (step.region >= state.program.regions.size())
    return fail("region {} of {}", step.region, state.program.regions.size());
  const fbs::RegionT& region = *state.program.regions[step.region];
  const uint32_t space = state.program.slots[region.slot]->space;
  for (const std::vector<uint32_t>* ids : {&step.inputs, &step.outputs}) {
    for (uint32_t id : *ids) {
      const fbs::ValueT& value = *state.function.values[id];
      if (value.space != space)
        return fail("value '{}' is not in the space of region {}", value.name, step.region);
    }
  }
  return verify_in_arena(state, space, step.workspace_offset, region.workspace_bytes);
}

Status verify_copy(const Verification& state, const fbs::StepT& step) {
  if (step.inputs.size() != 1 || step.outputs.size() != 1) return fail("a copy of several values");
  const fbs::ValueT& from = *state.function.values[step.inputs[0]];
  const fbs::ValueT& to = *state.function.values[step.outputs[0]];
  if (from.dtype != to.dtype) return fail("a copy from '{}' to '{}' of another dtype", from.name, to.name);
  if (is_fixed(from) && is_fixed(to) && (from.dims != to.dims || from.axes != to.axes)) {
    return fail("a copy from '{}' to '{}' of another shape", from.name, to.name);
  }
  const DType dtype = static_cast<DType>(from.dtype);
  const bool host_only = dtype == DType::string || dtype == DType::undefined;
  if (host_only && !(on_host(from) && on_host(to))) {
    return fail("a copy of '{}', which only the host's memory can hold, between spaces", from.name);
  }
  return {};
}

Status verify_step(Verification& state, size_t number) {
  const fbs::StepT& step = *state.function.steps[number];
  for (uint32_t before : step.after) {
    if (before >= number) return fail("must come after step {}", before);
  }
  for (uint32_t id : step.inputs) {
    if (id >= state.ready.size()) return fail("reads value {} of {}", id, state.ready.size());
    if (!state.ready[id]) return fail("reads '{}' before it is written", state.function.values[id]->name);
  }
  for (uint32_t id : step.outputs) {
    if (id >= state.ready.size()) return fail("writes value {} of {}", id, state.ready.size());
    if (state.ready[id])
      return fail("writes '{}', which is already written", state.function.values[id]->name);
    state.ready[id] = true;
  }
  if (!has_bodies(step) && !step.bodies.empty()) return fail("it has bodies that it does not run");
  switch (step.kind) {
    case fbs::StepKind::run:
      return verify_run(state, step);
    case fbs::StepKind::copy:
      return verify_copy(state, step);
    case fbs::StepKind::branch:
    case fbs::StepKind::loop:
      return verify_bodies(state.program, state.function, step);
  }
  return fail("unknown kind {}", static_cast<int>(step.kind));
}

}  // namespace

Status verify_function(const fbs::ProgramT& program, const fbs::FunctionT& function, bool is_stage) {
  Verification state{program, function, is_stage, std::vector<bool>(function.values.size(), false),
                     std::vector<uint64_t>(program.spaces.size(), 0)};
  TRY(verify_arenas(state));
  for (const auto& value : function.values)
    TRY(with_context(verify_value(state, *value), "value '{}'", value->name));
  TRY(verify_boundary(state, function.inputs, "input"));
  TRY(verify_boundary(state, function.outputs, "output"));
  TRY(verify_callers_values(state));
  for (uint32_t id = 0; id < function.values.size(); ++id)
    TRY(with_context(verify_continued(state, id), "value '{}'", function.values[id]->name));
  TRY(verify_open_sizes(function));
  for (size_t i = 0; i < state.ready.size(); ++i) {
    const Storage storage = function.values[i]->storage;
    state.ready[i] = storage == Storage::input || storage == Storage::constant;
  }
  for (size_t i = 0; i < function.steps.size(); ++i) TRY(with_context(verify_step(state, i), "step {}", i));
  for (uint32_t output : function.outputs) {
    if (!state.ready[output]) return fail("no step writes output '{}'", function.values[output]->name);
  }
  return verify_arenas_are_used(state);
}

}  // namespace intarsia
