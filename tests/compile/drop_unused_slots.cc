// Devices of a program: it has those that it needs.
//
// Covers: src/compile/ drop_unused_slots.cc
#include "compile/drop_unused_slots.h"

#include <gtest/gtest.h>

#include <memory>

namespace intarsia {
namespace {

/// Makes the slots cpu, a, b and c, each with its own memory; on each of `used` a region runs and makes a
/// value.
fbs::ProgramT make_program(const std::vector<uint32_t>& used) {
  fbs::ProgramT program;
  program.functions.push_back(std::make_unique<fbs::FunctionT>());
  for (const char* name : {"cpu", "a", "b", "c"}) {
    auto slot = std::make_unique<fbs::SlotT>();
    slot->name = name;
    slot->space = static_cast<uint32_t>(program.spaces.size());
    program.functions[0]->arena_bytes.push_back(64 * slot->space);
    program.slots.push_back(std::move(slot));
    program.spaces.push_back(std::make_unique<fbs::SpaceT>());
    program.spaces.back()->name = name;
  }
  for (uint32_t slot : used) {
    program.regions.push_back(std::make_unique<fbs::RegionT>());
    program.regions.back()->slot = slot;
    program.functions[0]->values.push_back(std::make_unique<fbs::ValueT>());
    program.functions[0]->values.back()->space = slot;
  }
  return program;
}

std::string names_of_slots(const fbs::ProgramT& program) {
  std::string text;
  for (const auto& slot : program.slots) text += slot->name + "@" + program.spaces[slot->space]->name + " ";
  return text;
}

TEST(DropUnusedSlots, NumbersFollow) {
  fbs::ProgramT program = make_program({2, 3});
  drop_unused_slots(program, {"cpu", "a", "b", "c"});
  EXPECT_EQ(names_of_slots(program), "cpu@cpu b@b c@c ");
  EXPECT_EQ(program.spaces.size(), 3);
  EXPECT_EQ(program.regions[0]->slot, 1);
  EXPECT_EQ(program.regions[1]->slot, 2);
  EXPECT_EQ(program.functions[0]->values[1]->space, 2);
  EXPECT_EQ(program.functions[0]->arena_bytes, (std::vector<uint64_t>{0, 128, 192}));
}

TEST(DropUnusedSlots, OthersStay) {
  fbs::ProgramT program = make_program({0});
  drop_unused_slots(program, {"b"});
  EXPECT_EQ(names_of_slots(program), "cpu@cpu a@a c@c ");
}

}  // namespace
}  // namespace intarsia
