// Translation rules by family, one table per file.
#pragma once

#include <span>
#include <string_view>

#include "translate/translation.h"

namespace intarsia {

struct TranslationRow {
  std::string_view op;
  TranslationRule rule;
  std::string_view domain =
      "";  // of ONNX's operators; TensorFlow's and ONNX Runtime's have tables of their own
};

std::span<const TranslationRow> elementwise_translations();
std::span<const TranslationRow> contraction_translations();
std::span<const TranslationRow> window_translations();
std::span<const TranslationRow> normalization_translations();
std::span<const TranslationRow> reduction_translations();
std::span<const TranslationRow> movement_translations();
std::span<const TranslationRow> indexing_translations();
std::span<const TranslationRow> slicing_translations();
std::span<const TranslationRow> image_translations();
std::span<const TranslationRow> recurrent_translations();
std::span<const TranslationRow> quantization_translations();
std::span<const TranslationRow> gradient_translations();
std::span<const TranslationRow> diagonal_translations();
std::span<const TranslationRow> onnxruntime_translations();
std::span<const TranslationRow> onnxruntime_attention_translations();
std::span<const TranslationRow> onnxruntime_fusion_translations();
std::span<const TranslationRow> grouped_attention_translations();

// Operators of ONNX that are made of others.
std::span<const TranslationRow> attention_decompositions();
std::span<const TranslationRow> linear_attention_decompositions();
std::span<const TranslationRow> loss_decompositions();
std::span<const TranslationRow> signal_decompositions();
std::span<const TranslationRow> machine_learning_decompositions();
std::span<const TranslationRow> support_vector_decompositions();
std::span<const TranslationRow> tree_decompositions();
std::span<const TranslationRow> random_decompositions();
std::span<const TranslationRow> movement_decompositions();
std::span<const TranslationRow> training_decompositions();
std::span<const TranslationRow> window_decompositions();
/// Operators that ONNX does not list, which exporters write in its domain.
std::span<const TranslationRow> unlisted_translations();

}  // namespace intarsia
