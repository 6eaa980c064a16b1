// Properties of the processor, or the device, that schedules depend on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "backends/halide/abi/kernel_device.h"
#include "base/cpu_level.h"
#include "base/result.h"

namespace intarsia::halide {

struct Isa {
  std::string level;  // CodeTarget::level
  int vector_bytes = 16;
  int registers = 16;  // vector registers
  KernelDevice device = KernelDevice::cpu;
  int group_items = 1;                  // work items of a group
  int64_t l2_bytes = typical_l2_bytes;  // L2 cache of a core
  DotProducts dot_products = DotProducts::none;

  bool is_offloaded() const { return device != KernelDevice::cpu; }
  /// Returns true if the work items of a group run side by side, so that neighbors should read and write
  /// neighboring elements.
  bool runs_groups() const { return group_items > 1; }
  /// Returns true if one instruction sums four products of 8 bits.
  bool has_dot_products() const { return dot_products != DotProducts::none; }
  bool has_bf16_products() const { return multiplies_bf16(dot_products); }
  /// Returns true if Halide cannot generate that instruction (emit/dot_tiles.c).
  bool calls_dot_tiles() const { return has_dot_products() && !has_bf16_products(); }
  /// Returns true if an instruction multiplies a vector by one element of another, so that a vector of the
  /// input along the depth is read at once.
  bool multiplies_by_element() const {
    return device == KernelDevice::cpu && arch_of_level(level) == Arch::aarch64;
  }
  /// Returns true if one instruction sums two products of integers of 16 bits; others multiply single ones
  /// and add them to sums of 32 bits.
  bool sums_pairs() const { return arch_of_level(level) == Arch::x86_64; }
  /// Returns true if a register has a single number, or two integers of 16 bits whose products with those of
  /// another one instruction adds to a sum (build/dsp_products.h).
  bool multiplies_words() const {
    return device == KernelDevice::cpu && arch_of_level(level) == Arch::armv7e_m;
  }
  /// Returns true if an instruction multiplies a vector of integers by a general register and adds, and
  /// another one adds the products of two vectors to a general register.
  bool has_helium() const { return device == KernelDevice::cpu && arch_of_level(level) == Arch::armv8_1_m; }
  /// Returns how many integers along the depth a microcontroller's code multiplies at once, in words or
  /// vectors (build/dsp_products.h); 0 if there are no such instructions.
  int64_t neighbors_at_once() const { return multiplies_words() ? 4 : has_helium() ? 8 : 0; }
  /// Returns true if an instruction starts when the one before it is done: that of a microcontroller.
  bool is_in_order() const {
    return device == KernelDevice::cpu && is_of_microcontrollers(arch_of_level(level));
  }
  bool has_amx() const { return dot_products == DotProducts::amx; }
  /// Leaves out the tile registers, which Linux gives only to processes that ask for them.
  void avoid_tiles() {
    if (has_amx()) dot_products = DotProducts::sapphire_rapids;
  }
  bool is_opencl() const { return device == KernelDevice::opencl || device == KernelDevice::opencl_gpu; }
  /// Returns the bytes of input that a block of rows may touch so that they stay in the L2 cache while
  /// weights stream past them. Each block reads all weights once, so larger blocks are faster until they
  /// leave the cache (measured with caches of 1 and 2 MiB; half of a smaller one).
  int64_t block_bytes() const {
    constexpr int64_t streamed = 512 * 1024;
    return std::max(l2_bytes - streamed, l2_bytes / 2);
  }
  /// Returns the number of elements in one vector; OpenCL C has none of more than 16 elements, and ARMv7 none
  /// of 64 bits that LLVM can store.
  int lanes(int element_bytes) const {
    if (!is_offloaded() && element_bytes > pointer_bytes(arch_of_level(level))) return 1;
    const int lanes = std::max(vector_bytes / element_bytes, 1);
    return is_offloaded() ? std::min(lanes, 16) : lanes;
  }
};

/// Makes an Isa from CompileOptions::cpu; "native" is what this machine has, including its L2 cache. For a
/// device that is a processor, `cpu` says what registers it has; for others, what launches its kernels.
Result<Isa> make_isa(const std::string& cpu, KernelDevice device = KernelDevice::cpu);

}  // namespace intarsia::halide
