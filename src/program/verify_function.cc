#include "program/verify_function.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace intarsia {
namespace {

using fbs::Storage;

bool is_fixed(const fbs::ValueT& value) {
  return !value.rank_unknown && std::ranges::all_of(value.dims, [](int64_t size) { return size >= 0; });
}

class FunctionVerifier {
 public:
  FunctionVerifier(const fbs::ProgramT& program, const fbs::FunctionT& function)
      : program_(program),
        function_(function),
        ready_(function.values.size(), false),
        arena_ends_(program.slots.size(), 0) {}

  Status verify() {
    TRY(verify_arenas());
    for (const auto& value : function_.values)
      TRY(with_context(verify_value(*value), "value '{}'", value->name));
    TRY(verify_boundary(function_.inputs, "input"));
    TRY(verify_boundary(function_.outputs, "output"));
    TRY(verify_callers_values());
    for (size_t i = 0; i < ready_.size(); ++i) {
      const Storage storage = function_.values[i]->storage;
      ready_[i] = storage == Storage::input || storage == Storage::constant;
    }
    for (size_t i = 0; i < function_.steps.size(); ++i) TRY(with_context(verify_step(i), "step {}", i));
    for (uint32_t output : function_.outputs) {
      if (!ready_[output]) return fail("no step writes output '{}'", function_.values[output]->name);
    }
    return verify_arenas_are_used();
  }

 private:
  const fbs::ProgramT& program_;
  const fbs::FunctionT& function_;
  std::vector<bool> ready_;           // values that an earlier step has written, inputs and constants
  std::vector<uint64_t> arena_ends_;  // one per slot: end of the last value or workspace

  bool on_host(const fbs::ValueT& value) const { return is_host_kind(program_.slots[value.slot]->kind); }

  Status verify_arenas() const {
    if (function_.arena_bytes.size() != program_.slots.size()) {
      return fail("{} arenas for {} slots", function_.arena_bytes.size(), program_.slots.size());
    }
    for (uint64_t bytes : function_.arena_bytes) {
      if (bytes > max_arena_bytes) return fail("an arena of {} bytes", bytes);
    }
    return {};
  }

  /// No session takes more memory than its steps can use.
  Status verify_arenas_are_used() const {
    for (size_t slot = 0; slot < arena_ends_.size(); ++slot) {
      const uint64_t arena = function_.arena_bytes[slot];
      if (arena <= round_up(arena_ends_[slot], tail_alignment)) continue;
      return fail("an arena of {} bytes on slot '{}', of which {} are used", arena,
                  program_.slots[slot]->name, arena_ends_[slot]);
    }
    return {};
  }

  Status verify_in_arena(uint32_t slot, uint64_t offset, uint64_t bytes) {
    const uint64_t arena = function_.arena_bytes[slot];
    if (offset % tail_alignment != 0) return fail("offset {} is not a multiple of 64", offset);
    if (offset > arena || bytes > arena - offset) {
      return fail("{} bytes at {} do not fit in slot '{}''s arena of {} bytes", bytes, offset,
                  program_.slots[slot]->name, arena);
    }
    arena_ends_[slot] = std::max(arena_ends_[slot], offset + bytes);
    return {};
  }

  Status verify_value(const fbs::ValueT& value) {
    const DType dtype = static_cast<DType>(value.dtype);
    if (value.dtype >= dtype_count) return fail("unknown dtype {}", value.dtype);
    if (value.slot >= program_.slots.size()) return fail("slot {} of {}", value.slot, program_.slots.size());
    if (value.dims.size() > max_rank) return fail("rank {}", value.dims.size());
    if (std::ranges::any_of(value.dims, [](int64_t size) { return size < -1; }))
      return fail("a size below -1");
    if (value.rank_unknown && !value.dims.empty()) return fail("sizes, though its rank is unknown");
    const bool opaque = dtype == DType::undefined;
    const bool fixed = is_fixed(value) && !opaque;
    const uint64_t bytes =
        fixed ? dtype_bytes(dtype, static_cast<size_t>(TRY(checked_elements(value.dims)))) : 0;
    switch (value.storage) {
      case Storage::input:
        return on_host(value) ? Status() : fail("an input that is not on a host slot");
      case Storage::output:
        if (!fixed) return fail("an output of unknown size; want storage dynamic");
        return on_host(value) ? Status() : fail("an output that is not on a host slot");
      case Storage::arena:
        if (!fixed || dtype == DType::string)
          return fail("in the arena, though its size in bytes is not known");
        return verify_in_arena(value.slot, value.offset, bytes);
      case Storage::dynamic:
        return {};
      case Storage::constant:
        return verify_constant(value);
    }
    return fail("unknown storage {}", static_cast<int>(value.storage));
  }

  Status verify_constant(const fbs::ValueT& value) const {
    if (value.constant >= program_.constants.size()) {
      return fail("constant {} of {}", value.constant, program_.constants.size());
    }
    const fbs::ConstantT& constant = *program_.constants[value.constant];
    if (value.rank_unknown || value.dtype != constant.dtype || value.dims != constant.dims) {
      return fail("its type is not that of constant {}", value.constant);
    }
    if (!on_host(value) && static_cast<DType>(value.dtype) == DType::string)
      return fail("strings outside the host");
    return {};
  }

  Status verify_boundary(const std::vector<uint32_t>& boundary, std::string_view what) const {
    std::set<std::string_view> names;
    for (uint32_t id : boundary) {
      if (id >= function_.values.size())
        return fail("{} is value {} of {}", what, id, function_.values.size());
      const fbs::ValueT& value = *function_.values[id];
      if (value.name.empty() || !names.insert(value.name).second) {
        return fail("{} name '{}' is empty or duplicated", what, value.name);
      }
      const bool legal = what == "input"
                             ? value.storage == Storage::input
                             : value.storage == Storage::output || value.storage == Storage::dynamic;
      if (!legal)
        return fail("{} '{}' has storage {}", what, value.name, fbs::EnumNameStorage(value.storage));
      if (!on_host(value)) return fail("{} '{}' is not on a host slot", what, value.name);
    }
    return {};
  }

  /// A value in a caller's buffer must be an input or output of the function.
  Status verify_callers_values() const {
    std::vector<bool> known(function_.values.size(), false);
    for (uint32_t id : function_.inputs) known[id] = true;
    for (uint32_t id : function_.outputs) known[id] = true;
    for (size_t i = 0; i < known.size(); ++i) {
      const fbs::ValueT& value = *function_.values[i];
      if (!known[i] && (value.storage == Storage::input || value.storage == Storage::output)) {
        return fail("value '{}' has storage {} but is not on the function's boundary", value.name,
                    fbs::EnumNameStorage(value.storage));
      }
    }
    return {};
  }

  Status verify_step(size_t number) {
    const fbs::StepT& step = *function_.steps[number];
    for (uint32_t before : step.after) {
      if (before >= number) return fail("must come after step {}", before);
    }
    for (uint32_t id : step.inputs) {
      if (id >= ready_.size()) return fail("reads value {} of {}", id, ready_.size());
      if (!ready_[id]) return fail("reads '{}' before it is written", function_.values[id]->name);
    }
    for (uint32_t id : step.outputs) {
      if (id >= ready_.size()) return fail("writes value {} of {}", id, ready_.size());
      if (ready_[id]) return fail("writes '{}', which is already written", function_.values[id]->name);
      ready_[id] = true;
    }
    switch (step.kind) {
      case fbs::StepKind::run:
        return verify_run(step);
      case fbs::StepKind::copy:
        return verify_copy(step);
    }
    return fail("unknown kind {}", static_cast<int>(step.kind));
  }

  Status verify_run(const fbs::StepT& step) {
    if (step.region >= program_.regions.size())
      return fail("region {} of {}", step.region, program_.regions.size());
    const fbs::RegionT& region = *program_.regions[step.region];
    for (const std::vector<uint32_t>* ids : {&step.inputs, &step.outputs}) {
      for (uint32_t id : *ids) {
        const fbs::ValueT& value = *function_.values[id];
        if (value.slot != region.slot)
          return fail("value '{}' is not on the slot of region {}", value.name, step.region);
      }
    }
    return verify_in_arena(region.slot, step.workspace_offset, region.workspace_bytes);
  }

  Status verify_copy(const fbs::StepT& step) const {
    if (step.inputs.size() != 1 || step.outputs.size() != 1) return fail("a copy of several values");
    const fbs::ValueT& from = *function_.values[step.inputs[0]];
    const fbs::ValueT& to = *function_.values[step.outputs[0]];
    if (from.dtype != to.dtype) return fail("a copy from '{}' to '{}' of another dtype", from.name, to.name);
    if (is_fixed(from) && is_fixed(to) && from.dims != to.dims) {
      return fail("a copy from '{}' to '{}' of another shape", from.name, to.name);
    }
    const DType dtype = static_cast<DType>(from.dtype);
    const bool host_only = dtype == DType::string || dtype == DType::undefined;
    if (host_only && !(on_host(from) && on_host(to))) {
      return fail("a copy of '{}', which only a host slot can hold, between devices", from.name);
    }
    return {};
  }
};

}  // namespace

Status verify_function(const fbs::ProgramT& program, const fbs::FunctionT& function) {
  return FunctionVerifier(program, function).verify();
}

}  // namespace intarsia
