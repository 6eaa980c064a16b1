// What files in the Executable and Linkable Format say of an architecture.
#pragma once

#include <cstdint>

#include "base/architecture.h"

namespace intarsia {

struct ElfMachine {
  uint16_t number = 0;  // e_machine
  uint32_t calls = 0;   // e_flags: which calls code follows; loaders refuse others
};

ElfMachine elf_machine(Arch arch);

}  // namespace intarsia
