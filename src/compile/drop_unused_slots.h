// A program for the devices that it needs.
#pragma once

#include <set>
#include <string>

#include "program/program.h"

namespace intarsia {

/// Removes those of the named slots that no region runs on, and memories that nothing is in then. What is of
/// the host stays.
void drop_unused_slots(fbs::ProgramT& program, const std::set<std::string>& names);

}  // namespace intarsia
