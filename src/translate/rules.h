// Translation rules by family, one table per file.
#pragma once

#include <span>
#include <string_view>

#include "translate/translation.h"

namespace intarsia {

struct TranslationRow {
  std::string_view op;
  TranslationRule rule;
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
std::span<const TranslationRow> onnxruntime_translations();

}  // namespace intarsia
