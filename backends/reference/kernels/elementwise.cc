// The elementwise family; its kernels are in elementwise_{unary,binary,cast,select}.cc.
#include "backends/reference/kernels/elementwise.h"

#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {

std::span<const KernelEntry> elementwise_kernels() {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> entries;
    for (auto part : {unary_kernels, binary_kernels, cast_kernels, select_kernels}) {
      entries.insert(entries.end(), part().begin(), part().end());
    }
    return entries;
  }();
  return all;
}

}  // namespace intarsia::reference
