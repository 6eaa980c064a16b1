// A long transform, of length n1 * n2, is two products with a multiplication between them (Cooley and Tukey,
// "An Algorithm for the Machine Calculation of Complex Fourier Series", 1965). With i = n2 i1 + i2 and k = k1
// + n1 k2:
//   X[k] = sum over i2 of w(n1 n2)^(i2 k1) (sum over i1 of x[i] w(n1)^(i1 k1)) w(n2)^(i2 k2),  w(n) = exp(-2
//   pi i / n)
#include "translate/fourier.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace intarsia {
namespace {

constexpr int64_t shortest_factored = 384, longest_factor = 512;

/// Returns the largest factor that is not above the square root; 1 of a prime number.
int64_t factor_of(int64_t length) {
  auto factor = static_cast<int64_t>(std::sqrt(static_cast<double>(length)));
  while (length % factor != 0) --factor;
  return factor;
}

struct Turn {
  double cosine, sine;
};

/// Returns exp(sign 2 pi i a b / length).
Turn turn_of(int64_t a, int64_t b, int64_t length, bool is_inverse) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(a * b % length) / static_cast<double>(length);
  return {std::cos(angle), is_inverse ? std::sin(angle) : -std::sin(angle)};
}

/// Makes a constant of f(i) for each place i.
template <typename F>
Tensor fill_tensor(DType dtype, const Shape& shape, F f) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    if (dtype == DType::f64)
      tensor.as<double>()[static_cast<size_t>(i)] = f(i);
    else
      tensor.as<float>()[static_cast<size_t>(i)] = static_cast<float>(f(i));
  }
  return tensor;
}

/// Returns what part `from` of input `i` adds to part `to` of output `k`. An input bin of a one-sided
/// spectrum also stands for its conjugate.
double entry_of(const Fourier& f, int64_t i, int64_t from, int64_t k, int64_t to) {
  const Turn turn = turn_of(i, k, f.length, f.is_inverse);
  const double part = from == to ? turn.cosine : to == 1 ? turn.sine : -turn.sine;
  if (!f.is_inverse) return part;
  const bool is_end = i == 0 || 2 * i == f.length;
  if (f.is_onesided && is_end && from == 1) return 0;
  return part * (f.is_onesided && !is_end ? 2 : 1) / static_cast<double>(f.length);
}

ValueId merge_last(Translation& t, ValueId x, int64_t rank, const std::vector<int64_t>& last) {
  std::vector<int64_t> shape(static_cast<size_t>(rank) - 2, 0);
  shape.insert(shape.end(), last.begin(), last.end());
  return t.make("Reshape", {x, t.make_integers(shape)});
}

/// Multiplies rows by the whole matrix.
ValueId transform_at_once(Translation& t, const Fourier& f, ValueId x, int64_t rank) {
  const Shape shape{f.inputs() * f.components, f.outputs() * f.parts()};
  const ValueId matrix = t.make_constant(fill_tensor(f.dtype, shape, [&](int64_t at) {
    const int64_t row = at / shape[1], column = at % shape[1];
    return entry_of(f, row / f.components, row % f.components, column / f.parts(), column % f.parts());
  }));
  const ValueId y = t.make("MatMul", {merge_last(t, x, rank, {shape[0]}), matrix});
  std::vector<int64_t> to(static_cast<size_t>(rank) - 2, 0);
  to.push_back(f.outputs());
  to.push_back(f.parts());
  return t.make("Reshape", {y, t.make_integers(to)});
}

/// Completes a one-sided spectrum by the conjugates of its bins; both ends are real.
ValueId whole_spectrum(Translation& t, const Fourier& f, ValueId x, int64_t rank) {
  const Tensor kept = fill_tensor(f.dtype, {f.bins(), 2}, [&](int64_t i) {
    const bool is_end = i / 2 == 0 || i / 2 * 2 == f.length;
    return is_end && i % 2 == 1 ? 0 : 1;
  });
  x = t.make("Mul", {x, t.make_constant(kept)});
  const int64_t last = (f.length - 1) / 2;  // bins last ... 1 in reverse are the missing ones
  const ValueId back = t.make("Slice", {x, t.make_integers({last}), t.make_integers({0}),
                                        t.make_integers({rank - 2}), t.make_integers({-1})});
  const Tensor signs = fill_tensor(f.dtype, {2}, [](int64_t i) { return i == 0 ? 1 : -1; });
  return t.make("Concat", {x, t.make("Mul", {back, t.make_constant(signs)})}, {{"axis", rank - 2}});
}

/// Shapes and axes of the steps of a transform in two factors; leading axes stay.
class TwoFactors {
 public:
  TwoFactors(Translation& t, const Fourier& f, int64_t rank)
      : t_(t), f_(f), leading_(rank - 2), n1_(factor_of(f.length)), n2_(f.length / n1_) {}

  /// x: [..., length, components]
  ValueId run(ValueId x, int64_t components) {
    const int64_t needed = (f_.outputs() + n1_ - 1) / n1_;  // of n2 groups of bins
    // [..., n1, n2, components] -> [..., n2, (component, i1)]
    x = transposed(shaped(x, {n1_, n2_, components}), {1, 2, 0});
    x = t_.make("MatMul", {shaped(x, {n2_, components * n1_}), part_matrix(n1_, n1_, components, 2, 1)});
    x = turned(shaped(x, {n2_, 2, n1_}));
    // [..., part, n2, k1] -> [..., k1, (part, i2)]
    x = shaped(transposed(x, {2, 0, 1}), {n1_, 2 * n2_});
    const double scale = f_.is_inverse ? 1 / static_cast<double>(f_.length) : 1;
    x = t_.make("MatMul", {x, part_matrix(n2_, needed, 2, f_.parts(), scale)});
    // [..., k1, part, k2] -> [..., k2, k1, part]
    x = transposed(shaped(x, {n1_, f_.parts(), needed}), {2, 0, 1});
    x = shaped(x, {needed * n1_, f_.parts()});
    return needed * n1_ == f_.outputs() ? x : t_.slice(x, leading_, 0, f_.outputs());
  }

 private:
  ValueId shaped(ValueId x, const std::vector<int64_t>& last) {
    return merge_last(t_, x, leading_ + 2, last);
  }

  /// Permutes the three last axes.
  ValueId transposed(ValueId x, const std::vector<int64_t>& order) {
    std::vector<int64_t> all(static_cast<size_t>(leading_));
    std::iota(all.begin(), all.end(), 0);
    for (int64_t axis : order) all.push_back(leading_ + axis);
    return t_.transpose(x, all);
  }

  /// Returns the matrix [(part, i), (part, k)] of a transform of `count` elements to the first bins.
  ValueId part_matrix(int64_t count, int64_t bins, int64_t parts_in, int64_t parts_out, double scale) {
    const int64_t columns = bins * parts_out;
    return t_.make_constant(fill_tensor(f_.dtype, {count * parts_in, columns}, [&](int64_t at) {
      const int64_t row = at / columns, column = at % columns;
      const Turn turn = turn_of(row % count, column % bins, count, f_.is_inverse);
      const int64_t from = row / count, to = column / bins;
      return scale * (from == to ? turn.cosine : to == 1 ? turn.sine : -turn.sine);
    }));
  }

  /// Multiplies [..., n2, part, n1] by w(n1 n2)^(i2 k1); returns [..., part, n2, n1].
  ValueId turned(ValueId x) {
    const auto factor = [&](bool is_sine) {
      return t_.make_constant(fill_tensor(f_.dtype, {n2_, n1_}, [&](int64_t at) {
        const Turn turn = turn_of(at / n1_, at % n1_, f_.length, f_.is_inverse);
        return is_sine ? turn.sine : turn.cosine;
      }));
    };
    const ValueId cosine = factor(false), sine = factor(true);
    const auto part = [&](int64_t i) {
      return t_.make("Squeeze", {t_.slice(x, leading_ + 1, i, i + 1), t_.make_integers({leading_ + 1})});
    };
    const ValueId real = part(0), imaginary = part(1);
    const auto mul = [&](ValueId a, ValueId b) { return t_.make("Mul", {a, b}); };
    const ValueId made[] = {t_.make("Sub", {mul(real, cosine), mul(imaginary, sine)}),
                            t_.make("Add", {mul(real, sine), mul(imaginary, cosine)})};
    return t_.make("Concat", {t_.unsqueeze(made[0], {leading_}), t_.unsqueeze(made[1], {leading_})},
                   {{"axis", leading_}});
  }

  Translation& t_;
  const Fourier& f_;
  int64_t leading_, n1_, n2_;
};

}  // namespace

bool Fourier::is_factored() const {
  if (length < shortest_factored) return false;
  const int64_t factor = factor_of(length);
  return factor >= 8 && length / factor <= longest_factor;
}

Status check(const Fourier& f) {
  if (f.length < 1 || f.length > max_made_elements) return fail("a transform of length {}", f.length);
  if (f.components != 1 && f.components != 2) return fail("{} components", f.components);
  if (f.is_onesided && (f.components == 2) != f.is_inverse)
    return fail("a one-sided {}transform of {} component{}", f.is_inverse ? "inverse " : "", f.components,
                f.components == 1 ? "" : "s");
  const int64_t elements = f.inputs() * f.components * f.outputs() * f.parts();
  if (!f.is_factored() && elements > max_made_elements)
    return fail("a transform of length {}, which has no two factors of a like size", f.length);
  return {};
}

ValueId transform(Translation& t, const Fourier& f, ValueId x, int64_t rank) {
  if (!f.is_factored()) return transform_at_once(t, f, x, rank);
  if (f.is_inverse && f.is_onesided) x = whole_spectrum(t, f, x, rank);
  return TwoFactors(t, f, rank).run(x, f.components);
}

ValueId transform_weights(Translation& t, const Fourier& f) {
  const Shape shape{f.outputs() * f.parts(), f.components, f.inputs()};
  return t.make_constant(fill_tensor(f.dtype, shape, [&](int64_t at) {
    const int64_t row = at / (f.components * f.inputs()), column = at % (f.components * f.inputs());
    return entry_of(f, column % f.inputs(), column / f.inputs(), row / f.parts(), row % f.parts());
  }));
}

}  // namespace intarsia
