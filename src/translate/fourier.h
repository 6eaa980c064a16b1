// The discrete Fourier transform by products with constant matrices.
#pragma once

#include "translate/translation.h"

namespace intarsia {

/// A transform of rows [..., inputs, components] to [..., outputs, parts].
struct Fourier {
  int64_t length = 0;
  int64_t components = 1;  // of the input: 1 real, 2 real and imaginary
  bool is_inverse = false;
  /// Only the bins 0 ... length / 2 of a real signal: what a transform gives, or an inverse one takes.
  bool is_onesided = false;
  DType dtype = DType::f32;

  int64_t bins() const { return is_onesided ? length / 2 + 1 : length; }
  int64_t inputs() const { return is_inverse ? bins() : length; }
  int64_t outputs() const { return is_inverse ? length : bins(); }
  int64_t parts() const { return is_inverse && is_onesided ? 1 : 2; }
  /// Checks whether two products by smaller matrices are less work than one.
  bool is_factored() const;
};

/// Fails unless the transform is possible and its matrices have a reasonable size.
Status check(const Fourier& fourier);

/// Transforms the last two axes of a value of this rank.
ValueId transform(Translation& t, const Fourier& fourier, ValueId x, int64_t rank);

/// Returns the matrix of a transform as weights [outputs * parts, components, inputs] of a convolution.
ValueId transform_weights(Translation& t, const Fourier& fourier);

}  // namespace intarsia
