#include "compile/drop_unused_slots.h"

#include <algorithm>

namespace intarsia {
namespace {

/// Removes the entries that are not kept. Returns the new numbers, indexed by old number.
template <typename Entries>
std::vector<uint32_t> compact(Entries& entries, const std::vector<bool>& is_kept) {
  std::vector<uint32_t> numbers;
  uint32_t next = 0;
  for (size_t i = 0; i < is_kept.size(); ++i) {
    numbers.push_back(next);
    if (is_kept[i]) std::swap(entries[next++], entries[i]);
  }
  entries.resize(next);
  return numbers;
}

void move_to_spaces(fbs::FunctionT& function, const std::vector<uint32_t>& numbers,
                    const std::vector<bool>& is_kept) {
  for (const auto& value : function.values) value->space = numbers[value->space];
  compact(function.arena_bytes, is_kept);
  for (const auto& step : function.steps)
    for (const auto& body : step->bodies) move_to_spaces(*body, numbers, is_kept);
  for (const auto& alternative : function.alternatives) move_to_spaces(*alternative, numbers, is_kept);
  for (const auto& one : function.specializations) move_to_spaces(*one, numbers, is_kept);
  for (const auto& stage : function.stages) move_to_spaces(*stage->function, numbers, is_kept);
}

}  // namespace

void drop_unused_slots(fbs::ProgramT& program, const std::set<std::string>& names) {
  std::vector<bool> is_slot_kept;
  for (const auto& slot : program.slots)
    is_slot_kept.push_back(slot->space == host_space || !names.contains(slot->name));
  for (const auto& region : program.regions) is_slot_kept[region->slot] = true;
  for (const auto& function : program.functions)
    for (const auto& stage : function->stages) is_slot_kept[stage->slot] = true;
  std::vector<bool> is_space_kept(program.spaces.size(), false);
  is_space_kept[host_space] = true;
  for (size_t slot = 0; slot < program.slots.size(); ++slot) {
    if (is_slot_kept[slot]) is_space_kept[program.slots[slot]->space] = true;
  }
  const std::vector<uint32_t> slots = compact(program.slots, is_slot_kept);
  for (const auto& region : program.regions) region->slot = slots[region->slot];
  for (const auto& function : program.functions)
    for (const auto& stage : function->stages) stage->slot = slots[stage->slot];
  const std::vector<uint32_t> spaces = compact(program.spaces, is_space_kept);
  for (const auto& slot : program.slots) slot->space = spaces[slot->space];
  for (const auto& function : program.functions) move_to_spaces(*function, spaces, is_space_kept);
}

}  // namespace intarsia
