// Helpers of kernels: choose C++ types by dtype, read and write tensors as those types, walk over shapes.
//
//   return dispatch_number(x.dtype, [&]<typename T>() -> Status {
//     ReadAs<T> in(x);                  // f16, bf16, ... come as float
//     WriteAs<T> out(y);                // ... and go back when `out` ends
//     for (int64_t i = 0; i < in.size(); ++i) out[i] = in[i] + in[i];
//     return {};
//   });
#pragma once

#include <array>
#include <complex>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/reference/kernel.h"
#include "backends/reference/kernels/convert.h"

namespace intarsia::reference {

/// Returns the dtype whose elements are stored as T.
template <typename T>
constexpr DType native_dtype() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, int8_t>) return DType::i8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::i16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::u16;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::u64;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  return DType::undefined;
}

/// Elements of a tensor of numbers (is_number) as T: in place when they are stored so, else a converted copy.
template <typename T>
class ReadAs {
 public:
  explicit ReadAs(const ConstTensorView& view) : size_(element_count(view.shape)) {
    if (view.dtype == native_dtype<T>()) {
      data_ = static_cast<const T*>(view.data);
    } else {
      copy_ = std::make_unique<T[]>(static_cast<size_t>(size_));
      read_numbers(view, copy_.get());
      data_ = copy_.get();
    }
  }
  const T& operator[](int64_t i) const { return data_[i]; }
  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
  const T* data_ = nullptr;
  std::unique_ptr<T[]> copy_;
};

/// Tensor of numbers to be written as T: in place when stored so, else converted when this object ends. A
/// copy starts as zeros.
template <typename T>
class WriteAs {
 public:
  explicit WriteAs(const TensorView& view) : view_(view), size_(element_count(view.shape)) {
    if (view.dtype == native_dtype<T>()) {
      data_ = static_cast<T*>(view.data);
    } else {
      copy_ = std::make_unique<T[]>(static_cast<size_t>(size_));
      data_ = copy_.get();
    }
  }
  WriteAs(const WriteAs&) = delete;
  WriteAs& operator=(const WriteAs&) = delete;
  ~WriteAs() {
    if (copy_) write_numbers(copy_.get(), view_);
  }
  T& operator[](int64_t i) { return data_[i]; }
  T* data() { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  int64_t size() const { return size_; }

 private:
  TensorView view_;
  int64_t size_ = 0;
  T* data_ = nullptr;
  std::unique_ptr<T[]> copy_;
};

/// Type for sums and products of T: unsigned for integers, where overflow wraps as in ONNX.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <typename T>
T wrapping_add(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <typename T>
T wrapping_multiply(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

inline tl::unexpected<Error> unsupported(DType dtype) {
  return fail("dtype {} is not supported", dtype_name(dtype));
}

/// Calls `f.operator()<T>()` with T = double for f64, float for every other float.
template <typename F>
Status dispatch_float(DType dtype, F&& f) {
  if (dtype == DType::f64) return f.template operator()<double>();
  if (is_float(dtype)) return f.template operator()<float>();
  return unsupported(dtype);
}

/// Calls `f` with the type to compute with: as above for floats, the integer's own type (packed ones: int8_t,
/// uint8_t).
template <typename F>
Status dispatch_number(DType dtype, F&& f) {
  switch (dtype) {
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return f.template operator()<int8_t>();
    case DType::i16:
      return f.template operator()<int16_t>();
    case DType::i32:
      return f.template operator()<int32_t>();
    case DType::i64:
      return f.template operator()<int64_t>();
    case DType::u8:
    case DType::u4:
    case DType::u2:
      return f.template operator()<uint8_t>();
    case DType::u16:
      return f.template operator()<uint16_t>();
    case DType::u32:
      return f.template operator()<uint32_t>();
    case DType::u64:
      return f.template operator()<uint64_t>();
    default:
      return dispatch_float(dtype, f);
  }
}

/// Dispatches numbers and bool.
template <typename F>
Status dispatch_number_or_bool(DType dtype, F&& f) {
  if (dtype == DType::boolean) return f.template operator()<bool>();
  return dispatch_number(dtype, f);
}

/// Dispatches integers only.
template <typename F>
Status dispatch_integer(DType dtype, F&& f) {
  return is_integer(dtype) ? dispatch_number(dtype, f) : unsupported(dtype);
}

/// Dispatches for operators that only move elements: T is an unsigned integer as wide as the element,
/// std::complex<double> for 16 bytes, std::string for strings; elements of less than a byte are moved as
/// uint8_t. Use with ReadElements and WriteElements.
template <typename F>
Status dispatch_element(DType dtype, F&& f) {
  if (dtype == DType::string) return f.template operator()<std::string>();
  switch (dtype_bits(dtype)) {
    case 2:
    case 4:
    case 8:
      return f.template operator()<uint8_t>();
    case 16:
      return f.template operator()<uint16_t>();
    case 32:
      return f.template operator()<uint32_t>();
    case 64:
      return f.template operator()<uint64_t>();
    case 128:
      return f.template operator()<std::complex<double>>();
    default:
      return unsupported(dtype);
  }
}

/// Elements of a tensor as bare bits, T from dispatch_element.
template <typename T>
class ReadElements {
 public:
  explicit ReadElements(const ConstTensorView& view) : size_(element_count(view.shape)) {
    data_ = static_cast<const T*>(view.data);
    if (dtype_bits(view.dtype) >= 8) return;
    if constexpr (std::is_same_v<T, uint8_t>) {
      copy_.resize(static_cast<size_t>(size_));
      for (int64_t i = 0; i < size_; ++i)
        copy_[static_cast<size_t>(i)] = static_cast<uint8_t>(load_bits(view, i));
      data_ = copy_.data();
    }
  }
  const T& operator[](int64_t i) const { return data_[i]; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
  const T* data_ = nullptr;
  std::vector<uint8_t> copy_;
};

template <typename T>
class WriteElements {
 public:
  explicit WriteElements(const TensorView& view) : view_(view), size_(element_count(view.shape)) {
    data_ = static_cast<T*>(view.data);
    packed_ = dtype_bits(view.dtype) < 8;
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (!packed_) return;
      copy_.resize(static_cast<size_t>(size_));
      data_ = copy_.data();
    }
  }
  WriteElements(const WriteElements&) = delete;
  WriteElements& operator=(const WriteElements&) = delete;
  ~WriteElements() {
    if (!packed_) return;
    for (int64_t i = 0; i < size_; ++i) store_bits(view_, i, copy_[static_cast<size_t>(i)]);
  }
  T& operator[](int64_t i) { return data_[i]; }
  T* data() { return data_; }
  int64_t size() const { return size_; }

 private:
  TensorView view_;
  int64_t size_ = 0;
  T* data_ = nullptr;
  bool packed_ = false;
  std::vector<uint8_t> copy_;
};

/// Returns an axis as 0 ... rank - 1, counted from the end when negative.
Result<int64_t> resolve_axis(int64_t axis, size_t rank);
/// Resolves a list of axes, in the given order; no axis may occur twice.
Result<std::vector<int64_t>> resolve_axes(std::vector<int64_t> axes, size_t rank);

/// Returns the integers of input `input` if present, else of the attribute `name` if present, else nullopt:
/// for axes, pads, ... which moved from attributes to inputs.
Result<std::optional<std::vector<int64_t>>> ints_argument(const KernelContext& context, std::string_view name,
                                                          size_t input);

/// Fails with the number of the first missing input: `TRY(require_inputs(context, 2))`.
Status require_inputs(const KernelContext& context, size_t count);

/// Fails unless those of inputs first ... last - 1 that are present have dtype `dtype`.
Status require_dtype(const KernelContext& context, size_t first, size_t last, DType dtype);
/// Fails unless input i is a number (no string, no complex), as ReadAs requires.
Status require_number(const KernelContext& context, size_t i);
/// Fails unless input i has this shape.
Status require_shape(const KernelContext& context, size_t i, const Shape& shape);

/// Products of the sizes before, at and after an axis: element (o, k, i) is at (o * size + k) * inner + i.
struct AxisSplit {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
};
/// Splits the shape at `axis`, which is in 0 ... rank - 1.
AxisSplit split_at_axis(const Shape& shape, int64_t axis);

/// Returns the strides by which a tensor of shape `from` is read while walking over the shape `to` that it
/// broadcasts to: 0 along the axes that repeat.
Shape broadcast_strides(const Shape& from, const Shape& to);

/// Calls f(i, offsets) for every element i of `shape` in row-major order; offsets[k] = sum of index *
/// strides[k].
template <size_t N, typename F>
void for_each_offset(const Shape& shape, const std::array<Shape, N>& strides, F&& f) {
  const int64_t count = element_count(shape);
  Shape index(shape.size(), 0);
  std::array<int64_t, N> offsets{};
  for (int64_t i = 0; i < count; ++i) {
    f(i, offsets);
    for (size_t axis = shape.size(); axis-- > 0;) {
      for (size_t k = 0; k < N; ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < shape[axis]) break;
      for (size_t k = 0; k < N; ++k) offsets[k] -= strides[k][axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace intarsia::reference
