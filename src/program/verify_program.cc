#include "program/verify_program.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "program/open_sizes.h"
#include "program/verify_function.h"
#include "program/verify_stages.h"

namespace intarsia {
namespace {

bool fits(uint64_t offset, uint64_t bytes, uint64_t begin, uint64_t end) {
  return offset >= begin && offset <= end && bytes <= end - offset;
}

/// Features that a reader of this version knows beyond the format itself.
constexpr std::array known_features{alternatives_feature, symbols_feature, cpus_feature, calls_feature};

Status verify_needs(const fbs::ProgramT& program) {
  for (const std::string& feature : program.needs) {
    if (std::ranges::find(known_features, feature) != known_features.end()) continue;
    return fail(
        ErrorKind::version,
        "it uses the feature '{}', which this Intarsia does not know: update Intarsia, or compile the "
        "model with this one",
        feature);
  }
  return {};
}

bool has_need(const fbs::ProgramT& program, std::string_view feature) {
  return std::ranges::find(program.needs, feature) != program.needs.end();
}

Status verify_spaces(const fbs::ProgramT& program) {
  for (size_t i = 0; i < program.spaces.size(); ++i) {
    const fbs::SpaceT& space = *program.spaces[i];
    if (space.name.empty()) return fail("a space has no name");
    if ((space.kind == host_space_kind) != (i == host_space))
      return fail("space {} is of kind '{}'; only the first is the host's", i, space.kind);
  }
  return program.spaces.empty() ? fail("no space of the host") : Status();
}

/// Kinds of devices that do not come from plug-ins.
constexpr std::string_view own_kinds[] = {"cpu", "cuda", "opencl", "openvino", "sim"};

Status verify_slots(const fbs::ProgramT& program) {
  std::set<std::string_view> names;
  for (const auto& slot : program.slots) {
    if (slot->name.empty() || slot->kind.empty()) return fail("a slot has no name or no kind");
    if (!names.insert(slot->name).second) return fail("two slots are named '{}'", slot->name);
    if (slot->space >= program.spaces.size())
      return fail("slot '{}': space {} of {}", slot->name, slot->space, program.spaces.size());
    const bool is_of_plugin = std::ranges::find(own_kinds, slot->kind) == std::end(own_kinds);
    if (is_of_plugin && slot->space == host_space) continue;  // binding asks whether it works there
    if (program.spaces[slot->space]->kind != space_kind(slot->kind))
      return fail("slot '{}' of kind '{}' is in a space of kind '{}'", slot->name, slot->kind,
                  program.spaces[slot->space]->kind);
  }
  return {};
}

Status verify_constant(const fbs::ConstantT& constant, uint64_t constants_bytes) {
  const DType dtype = static_cast<DType>(constant.dtype);
  if (constant.dtype >= dtype_count || dtype == DType::undefined)
    return fail("unknown dtype {}", constant.dtype);
  if (constant.dims.size() > max_rank) return fail("rank {}", constant.dims.size());
  const int64_t elements = TRY(checked_elements(constant.dims));
  if (constant.offset % tail_alignment != 0)
    return fail("offset {} is not a multiple of 64", constant.offset);
  if (!fits(constant.offset, constant.bytes, 0, constants_bytes)) {
    return fail("{} bytes at {} do not lie in the constants' {} bytes", constant.bytes, constant.offset,
                constants_bytes);
  }
  if (dtype != DType::string && constant.bytes != dtype_bytes(dtype, static_cast<size_t>(elements))) {
    return fail("{} bytes for {} {}", constant.bytes, dtype_name(dtype), print_shape(constant.dims));
  }
  return {};
}

Status verify_region(const fbs::ProgramT& program, const fbs::RegionT& region, uint64_t constants_bytes,
                     uint64_t data_bytes) {
  if (region.backend.empty()) return fail("no backend");
  if (region.slot >= program.slots.size()) return fail("slot {} of {}", region.slot, program.slots.size());
  if (!fits(region.blob_offset, region.blob_bytes, constants_bytes, data_bytes) ||
      region.blob_offset % tail_alignment != 0) {
    return fail("{} blob bytes at {} do not lie in the blobs, {} to {}", region.blob_bytes,
                region.blob_offset, constants_bytes, data_bytes);
  }
  for (uint32_t constant : region.constants) {
    if (constant >= program.constants.size())
      return fail("constant {} of {}", constant, program.constants.size());
  }
  if (region.workspace_bytes % tail_alignment != 0 || region.workspace_bytes > max_arena_bytes) {
    return fail("{} bytes of workspace; want a multiple of 64", region.workspace_bytes);
  }
  if (region.open_workspace_bytes > max_arena_bytes)
    return fail("{} bytes of workspace for open sizes", region.open_workspace_bytes);
  return {};
}

/// Returns a text that is equal for boundaries at which callers give and get the same.
std::string print_boundary(const fbs::FunctionT& function) {
  std::string text;
  for (const std::vector<uint32_t>& side : {function.inputs, function.outputs}) {
    for (uint32_t id : side) {
      const fbs::ValueT& value = *function.values[id];
      text +=
          fmt::format("{} {} {} {};", value.name, value.dtype, value.rank_unknown, print_shape(value.dims));
      for (size_t axis = 0; axis < value.dims.size(); ++axis)
        text += text_of_size(function, value, axis) + ";";
    }
    text += "->";
  }
  return text;
}

/// Checks another way to run the function.
Status verify_other_way(const fbs::ProgramT& program, const fbs::FunctionT& function,
                        const fbs::FunctionT& other) {
  TRY(verify_function(program, other));
  if (!other.alternatives.empty()) return fail("it has alternatives");
  if (!other.specializations.empty()) return fail("it has specializations");
  if (!other.stages.empty()) return fail("it has stages");
  if (other.name != function.name || print_boundary(other) != print_boundary(function))
    return fail("it has another name, other inputs or other outputs");
  return {};
}

bool has_symbols_of(const fbs::FunctionT& function, const fbs::FunctionT& other) {
  return std::ranges::equal(function.symbols, other.symbols, [](const auto& one, const auto& two) {
    return one->name == two->name && one->min == two->min && one->max == two->max;
  });
}

Status verify_specialization(const fbs::ProgramT& program, const fbs::FunctionT& function,
                             const fbs::FunctionT& specialization) {
  TRY(verify_other_way(program, function, specialization));
  if (!has_symbols_of(function, specialization)) return fail("it has other symbols");
  if (specialization.ranges.empty()) return fail("no sizes that it is for");
  for (const auto& range : specialization.ranges)
    if (range->symbol >= function.symbols.size() || range->min > range->max)
      return fail("sizes {} to {} of symbol {}", range->min, range->max, range->symbol);
  return {};
}

Status verify_other_ways(const fbs::ProgramT& program, const fbs::FunctionT& function) {
  for (size_t i = 0; i < function.alternatives.size(); ++i)
    TRY(with_context(verify_other_way(program, function, *function.alternatives[i]), "alternative {}", i));
  for (size_t i = 0; i < function.specializations.size(); ++i)
    TRY(with_context(verify_specialization(program, function, *function.specializations[i]),
                     "specialization {}", i));
  if (!function.alternatives.empty() && !has_need(program, alternatives_feature))
    return fail("it has alternatives, but the program does not need '{}'", alternatives_feature);
  if (!function.symbols.empty() && !has_need(program, symbols_feature))
    return fail("it has symbols, but the program does not need '{}'", symbols_feature);
  return {};
}

/// Checks a variant for another CPU.
Status verify_variant(const fbs::ProgramT& variant, uint64_t constants_bytes, uint64_t data_bytes) {
  if (!variant.variants.empty()) return fail("it has variants");
  if (!fits(variant.elf_offset, variant.elf_bytes, constants_bytes, data_bytes) ||
      variant.elf_offset % tail_alignment != 0)
    return fail("{} bytes of code at {} do not lie in the blobs, {} to {}", variant.elf_bytes,
                variant.elf_offset, constants_bytes, data_bytes);
  return verify_program(variant, constants_bytes, data_bytes);
}

}  // namespace

Status verify_program(const fbs::ProgramT& program, uint64_t constants_bytes, uint64_t data_bytes) {
  TRY(verify_needs(program));
  TRY(verify_spaces(program));
  TRY(verify_slots(program));
  for (size_t i = 0; i < program.constants.size(); ++i) {
    TRY(with_context(verify_constant(*program.constants[i], constants_bytes), "constant {}", i));
  }
  for (size_t i = 0; i < program.regions.size(); ++i) {
    TRY(with_context(verify_region(program, *program.regions[i], constants_bytes, data_bytes), "region {}",
                     i));
  }
  std::set<std::string_view> names;
  for (const auto& function : program.functions) {
    if (!names.insert(function->name).second) return fail("two functions are named '{}'", function->name);
    TRY(with_context(verify_function(program, *function), "function '{}'", function->name));
    TRY(with_context(verify_other_ways(program, *function), "function '{}'", function->name));
    TRY(with_context(verify_stages(program, *function), "function '{}'", function->name));
  }
  if (!program.variants.empty() && !has_need(program, cpus_feature))
    return fail("it has variants, but does not need '{}'", cpus_feature);
  for (size_t i = 0; i < program.variants.size(); ++i)
    TRY(with_context(verify_variant(*program.variants[i], constants_bytes, data_bytes), "variant {}", i));
  return {};
}

}  // namespace intarsia
