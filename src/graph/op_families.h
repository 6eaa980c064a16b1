// Families of operators: each op_table_<family>.cc holds the rows and shape rules of one.
#pragma once

#include <span>

#include "graph/op_table.h"

namespace intarsia {

std::span<const OpInfo> elementwise_ops();
std::span<const OpInfo> reduction_ops();
std::span<const OpInfo> normalization_ops();
std::span<const OpInfo> quantization_ops();
std::span<const OpInfo> recurrent_ops();
std::span<const OpInfo> signal_ops();
std::span<const OpInfo> attention_ops();
std::span<const OpInfo> random_ops();
std::span<const OpInfo> movement_ops();
std::span<const OpInfo> indexing_ops();
std::span<const OpInfo> window_ops();
std::span<const OpInfo> contraction_ops();
std::span<const OpInfo> image_ops();
std::span<const OpInfo> selection_ops();
std::span<const OpInfo> machine_learning_ops();
std::span<const OpInfo> text_ops();
std::span<const OpInfo> training_ops();

}  // namespace intarsia
