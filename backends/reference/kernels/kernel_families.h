// Families of reference kernels, the same as those of the op table: each <family>.cc holds the kernels of
// one.
#pragma once

#include <span>

#include "backends/reference/kernel.h"

namespace intarsia::reference {

std::span<const KernelEntry> elementwise_kernels();
std::span<const KernelEntry> reduction_kernels();
std::span<const KernelEntry> normalization_kernels();
std::span<const KernelEntry> quantization_kernels();
std::span<const KernelEntry> recurrent_kernels();
std::span<const KernelEntry> signal_kernels();
std::span<const KernelEntry> attention_kernels();
std::span<const KernelEntry> random_kernels();
std::span<const KernelEntry> movement_kernels();
std::span<const KernelEntry> indexing_kernels();
std::span<const KernelEntry> window_kernels();
std::span<const KernelEntry> contraction_kernels();
std::span<const KernelEntry> image_kernels();
std::span<const KernelEntry> selection_kernels();
std::span<const KernelEntry> machine_learning_kernels();
std::span<const KernelEntry> text_kernels();
std::span<const KernelEntry> training_kernels();

}  // namespace intarsia::reference
