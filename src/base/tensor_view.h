// A dense row-major tensor in memory that it does not own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/dtype.h"
#include "base/shape.h"

namespace intarsia {

/// Owns nothing. Strings are an array of std::string. Data need not be aligned beyond the element's size.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::undefined;
  Shape shape;

  size_t bytes() const { return dtype_bytes(dtype, static_cast<size_t>(element_count(shape))); }
  template <typename T>
  std::span<T> as() const {
    return {static_cast<T*>(data), static_cast<size_t>(element_count(shape))};
  }
};

/// The same of memory that is only read.
struct ConstTensorView {
  const void* data = nullptr;
  DType dtype = DType::undefined;
  Shape shape;

  ConstTensorView() = default;
  ConstTensorView(const void* memory, DType type, Shape sizes)
      : data(memory), dtype(type), shape(std::move(sizes)) {}
  ConstTensorView(TensorView view) : data(view.data), dtype(view.dtype), shape(std::move(view.shape)) {}

  size_t bytes() const { return dtype_bytes(dtype, static_cast<size_t>(element_count(shape))); }
  template <typename T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data), static_cast<size_t>(element_count(shape))};
  }
};

/// A tensor whose memory is kept alive by shared ownership: copies of a Tensor share it.
class Tensor {
 public:
  Tensor() = default;
  /// New memory, 64-byte aligned and zero filled (strings: empty). Throws std::bad_alloc.
  Tensor(DType dtype, Shape shape);
  /// A deep copy of `view`.
  explicit Tensor(const ConstTensorView& view);
  /// Memory that `owner` keeps alive.
  Tensor(TensorView view, std::shared_ptr<void> owner) : view_(std::move(view)), memory_(std::move(owner)) {}
  /// Memory that nobody may write, of a mapped file for instance: whoever has the tensor only reads it.
  Tensor(ConstTensorView view, std::shared_ptr<const void> owner);

  const TensorView& view() const { return view_; }
  DType dtype() const { return view_.dtype; }
  const Shape& shape() const { return view_.shape; }
  void* data() const { return view_.data; }
  size_t bytes() const { return view_.bytes(); }
  const std::shared_ptr<void>& owner() const { return memory_; }
  template <typename T>
  std::span<T> as() const {
    return view_.as<T>();
  }
  bool operator==(const Tensor& other) const;

 private:
  TensorView view_;
  std::shared_ptr<void> memory_;
};

/// An input or output of a model, in memory that it keeps alive.
struct NamedValue {
  std::string name;
  Tensor tensor;
};

/// Same dtype, shape and bytes (strings: same text).
bool same_tensor(const TensorView& a, const TensorView& b);

/// False for a tensor of bools with a byte that is neither 0 nor 1: undefined behavior for code that reads it
/// as a bool.
bool has_legal_booleans(const TensorView& tensor);

/// Copies the elements of `from` to `to`, which has the same dtype and number of elements. Two of them, as a
/// view that becomes another copies its shape.
void copy_elements(const TensorView& from, const TensorView& to);
void copy_elements(const ConstTensorView& from, const TensorView& to);

/// 64-byte aligned memory, zero filled; freed with the pointer. Null when the memory cannot be allocated.
std::shared_ptr<void> allocate_aligned(size_t bytes);

}  // namespace intarsia
