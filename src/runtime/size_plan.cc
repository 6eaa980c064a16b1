#include "runtime/size_plan.h"

#include <algorithm>
#include <map>

#include "program/open_sizes.h"
#include "program/verify_function.h"
#include "runtime/region_text.h"

namespace intarsia {
namespace {

/// Number of size combinations that are kept.
constexpr size_t max_plans = 64;

bool is_open(const fbs::ValueT& value) {
  return value.storage == fbs::Storage::bound ||
         (value.storage == fbs::Storage::output && std::ranges::find(value.dims, -1) != value.dims.end());
}

/// Returns the strictest alignment of memory and places in a space.
size_t alignment_of(const BoundProgram& program, size_t space) {
  const std::shared_ptr<MemorySpace>& memory = program.spaces[space];
  return std::max<size_t>(tail_alignment, memory == nullptr ? 0 : memory->alignment());
}

}  // namespace

SizePlanner::SizePlanner(const BoundProgram& program, const fbs::FunctionT& function, StepOrder order)
    : program_(program), function_(function), order_(std::move(order)), position_(function.values.size()) {
  std::map<uint32_t, size_t> piece_of_value;
  for (uint32_t number = 0; number < function.values.size(); ++number) {
    const fbs::ValueT& value = *function.values[number];
    if (!is_open(value)) continue;
    position_[number] = values_.size();
    values_.push_back(number);
  }
  for (uint32_t number = 0; number < function.steps.size(); ++number) {
    const fbs::StepT& step = *function.steps[number];
    for (uint32_t id : step.inputs)
      if (const auto piece = piece_of_value.find(id); piece != piece_of_value.end())
        pieces_[piece->second].steps.push_back(number);
    for (uint32_t id : step.outputs) {
      if (function.values[id]->storage != fbs::Storage::bound) continue;
      piece_of_value[id] = pieces_.size();
      pieces_.push_back({true, id, function.values[id]->space, {number}});
    }
    if (step.kind != fbs::StepKind::run || !program.executables[step.region]->has_open_workspace()) continue;
    const uint32_t slot = program.description().regions[step.region]->slot;
    pieces_.push_back({false, number, program.description().slots[slot]->space, {number}});
  }
}

Result<const SizePlan*> SizePlanner::plan(const OpenSizes& sizes) {
  const auto is_same = [&](const SizePlan& plan) { return std::ranges::equal(plan.sizes, sizes.sizes); };
  const auto known = std::ranges::find_if(plans_, is_same);
  if (known != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, known);
    return &plans_.front();
  }
  plans_.push_front(TRY(make(sizes)));
  if (plans_.size() > max_plans) plans_.pop_back();
  return &plans_.front();
}

Result<SizePlan> SizePlanner::make(const OpenSizes& sizes) const {
  SizePlan plan;
  plan.sizes.assign(sizes.sizes.begin(), sizes.sizes.end());
  plan.shapes = TRY(find_shapes(sizes.sizes));
  for (const BoundPiece& piece : pieces_) plan.bytes.push_back(TRY(bytes_of(piece, plan, sizes)));
  TRY(place_pieces(plan));
  return plan;
}

Result<std::vector<Shape>> SizePlanner::find_shapes(std::span<const int64_t> sizes) const {
  std::vector<Shape> shapes;
  for (uint32_t number : values_) {
    const fbs::ValueT& value = *function_.values[number];
    Shape shape = TRY(with_context(shape_at(function_, value, sizes), "value '{}'", value.name));
    if (std::ranges::any_of(shape, [](int64_t size) { return size < 0; }))
      return fail("value '{}' would have shape {}: the model does not work with these sizes", value.name,
                  print_shape(shape));
    TRY(with_context(checked_elements(shape), "value '{}'", value.name));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Result<uint64_t> SizePlanner::bytes_of(const BoundPiece& piece, const SizePlan& plan,
                                       const OpenSizes& sizes) const {
  if (!piece.is_value) {
    const uint32_t region = function_.steps[piece.number]->region;
    return with_context(program_.executables[region]->open_workspace_bytes(sizes), "{}",
                        region_text(program_.description(), region));
  }
  const fbs::ValueT& value = *function_.values[piece.number];
  const Shape& shape = plan.shapes[position_[piece.number]];
  return dtype_bytes(static_cast<DType>(value.dtype), static_cast<size_t>(element_count(shape)));
}

Status SizePlanner::place_pieces(SizePlan& plan) const {
  plan.offsets.resize(pieces_.size());
  for (uint32_t space = 0; space < program_.spaces.size(); ++space) {
    std::vector<size_t> here, bytes;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].space != space) continue;
      if (plan.bytes[i] > max_arena_bytes)
        return fail(ErrorKind::out_of_memory, "a value of {} bytes is too large", plan.bytes[i]);
      here.push_back(i);
      bytes.push_back(plan.bytes[i]);
    }
    const auto at_once = [&](size_t a, size_t b) {
      return are_alive_at_once(pieces_[here[a]].steps, pieces_[here[b]].steps, order_);
    };
    const ArenaPlan arena = plan_arena(bytes, at_once, alignment_of(program_, space));
    for (size_t i = 0; i < here.size(); ++i) plan.offsets[here[i]] = arena.offsets[i];
    // Values without elements have an address, too.
    plan.arena_bytes.push_back(here.empty() ? 0 : std::max<uint64_t>(arena.bytes, tail_alignment));
  }
  return {};
}

}  // namespace intarsia
