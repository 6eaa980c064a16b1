#include "base/elf_machine.h"

#include <elf.h>

namespace intarsia {

ElfMachine elf_machine(Arch arch) {
  switch (arch) {
    case Arch::x86_64:
      return {EM_X86_64};
    case Arch::aarch64:
      return {EM_AARCH64};
    case Arch::riscv64:
      return {EM_RISCV, EF_RISCV_FLOAT_ABI_DOUBLE};
    case Arch::armv7:
    case Arch::armv7e_m:
    case Arch::armv8_1_m:
      return {EM_ARM, EF_ARM_EABI_VER5 | EF_ARM_ABI_FLOAT_HARD};
  }
  return {};
}

}  // namespace intarsia
