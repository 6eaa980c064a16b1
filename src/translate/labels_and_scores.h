// Parts of operators of ai.onnx.ml: numbers, scores and labels.
#pragma once

#include <string_view>
#include <vector>

#include "translate/translation.h"

namespace intarsia {

inline constexpr std::string_view machine_learning = "ai.onnx.ml";

/// Adds a vector, or another shape, of numbers as f32.
ValueId make_floats(Translation& t, const std::vector<float>& values, Shape shape = {});

ValueId as_f32(Translation& t, size_t i);

Status require_numbers(const Translation& t, size_t i = 0);

/// Returns the size of the last axis of one row or several.
Result<int64_t> features_of(const Translation& t, size_t i = 0);

/// Computes x times coefficients [columns, features], plus intercepts; the result has two axes.
Result<ValueId> linear_scores(Translation& t, const std::vector<float>& coefficients,
                              const std::vector<float>& intercepts, int64_t columns);

/// Applies what post_transform says to scores [rows, classes].
Result<ValueId> post_transform(Translation& t, ValueId scores);

/// Gives the label of each place in the list of labels as output 0.
Status give_labels(Translation& t, ValueId places);

}  // namespace intarsia
