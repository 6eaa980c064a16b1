// The normalization family; its kernels are in normalization_{norm,softmax,loss}.cc.
#include "backends/reference/kernels/normalization.h"

#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {

std::span<const KernelEntry> normalization_kernels() {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> entries;
    for (auto part : {norm_kernels, softmax_kernels, loss_kernels}) {
      entries.insert(entries.end(), part().begin(), part().end());
    }
    return entries;
  }();
  return all;
}

}  // namespace intarsia::reference
