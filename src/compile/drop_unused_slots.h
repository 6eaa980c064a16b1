// Trimming a program to the devices that it needs.
#pragma once

#include <set>
#include <string>

#include "program/program.h"

namespace intarsia {

/// Removes the named slots that no region runs on, and the memory spaces left empty. Slots on the host stay.
void drop_unused_slots(fbs::ProgramT& program, const std::set<std::string>& names);

}  // namespace intarsia
