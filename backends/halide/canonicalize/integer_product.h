// Products of integers of 8 bits by constants. Kernels multiply u8 by i8 and sum in i32, whatever the signs
// in the model are:
//   sum (x - zx) (w - zw)  =  sum x w  -  zx sum w  -  zw sum x  +  depth zx zw
// where all but the first sum and `sum x`, which most models multiply by 0, are constants.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "backends/halide/canonicalize/rewriter.h"

namespace intarsia::halide {

inline bool is_8_bits(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

inline bool has_one(const Tensor* tensor) { return tensor != nullptr && element_count(tensor->shape()) == 1; }

/// Returns the only element of a tensor of integers.
inline int64_t only_integer(const Tensor& tensor) {
  return static_cast<int64_t>(read_scalar(tensor).value_or(0));
}

/// Returns a constant zero point of 8 bits as that of the same numbers in u8; one that is omitted is 0, which
/// is 128 for i8.
Result<Tensor> zero_point(Rewriter& rewriter, size_t input, DType dtype);

/// Emits the sums of integers along an axis counted from the end (1: the last), which stays.
ValueId emit_sums(Rewriter& rewriter, ValueId integers, int64_t from_end);

/// Constant factor of a product.
struct Weights {
  ValueId integers = no_value;       // i8
  int64_t depth = 1;                 // summands of a product
  std::vector<int64_t> sums, zeros;  // of each output channel
  std::vector<float> scales;

  bool is_symmetric() const { return all_are(zeros, 0); }
  int64_t channels() const { return static_cast<int64_t>(sums.size()); }
};

/// Reads constants of u8 whose output channels are `axis`; scale and zero are for all or for each of them.
Result<Weights> read_weights(Rewriter& rewriter, const Tensor& integers, const Tensor* scale,
                             const Tensor& zero, int64_t axis);

/// Product of integers of u8 by weights: a convolution, or a product of matrices with columns as channels.
class IntegerProduct {
 public:
  /// `conv` has the parameters of a convolution; nullopt for matrices.
  IntegerProduct(Rewriter& rewriter, ValueId x, Weights weights, std::optional<ConvAttributes> conv)
      : r_(rewriter), x_(x), weights_(std::move(weights)), conv_(std::move(conv)) {}

  /// Emits the sums of products of x and w - zw, in i32.
  Result<ValueId> sums();
  /// Returns what the sums have too much for each step of x's zero point: the sum of w - zw.
  std::vector<int64_t> sums_of_weights() const;
  /// Emits the numbers that the sums stand for, given x's scale and zero point, which are constants. `more`
  /// is added to the sums of each channel.
  Result<ValueId> numbers(float scale, int64_t zero, const std::vector<int64_t>& more = {});
  /// Adds a constant of one number for each output channel.
  ValueId channel_constant(const std::vector<int64_t>& numbers);

 private:
  Shape channel_shape() const;
  /// Emits the sum of x over all that a product multiplies.
  ValueId sums_of_x();

  Rewriter& r_;
  ValueId x_;
  Weights weights_;
  std::optional<ConvAttributes> conv_;
};

}  // namespace intarsia::halide
