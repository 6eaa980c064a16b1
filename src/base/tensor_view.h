// Dense row-major tensors, without and with ownership of their memory.
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

/// View of a tensor; owns nothing. Strings are an array of std::string. Data may be aligned to just the
/// element size.
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

/// View of a tensor in memory that is only read.
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

/// Tensor with shared ownership of its memory: copies of a Tensor share it.
class Tensor {
 public:
  Tensor() = default;
  /// Allocates memory, 64-byte aligned and zero filled (strings: empty). Throws std::bad_alloc.
  Tensor(DType dtype, Shape shape);
  /// Makes a deep copy of `view`.
  explicit Tensor(const ConstTensorView& view);
  /// Refers to memory that `owner` keeps alive.
  Tensor(TensorView view, std::shared_ptr<void> owner) : view_(std::move(view)), memory_(std::move(owner)) {}
  /// Refers to read-only memory, for example a mapped file; users of the tensor must not write to it.
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

/// Input or output of a model, in memory that it keeps alive.
struct NamedValue {
  std::string name;
  Tensor tensor;
};

/// Checks for the same dtype, shape and bytes (strings: same text).
bool same_tensor(const TensorView& a, const TensorView& b);

/// Returns false for a bool tensor with a byte that is neither 0 nor 1: undefined behavior for code that
/// reads it as a bool.
bool has_legal_booleans(const TensorView& tensor);

/// Copies the elements of `from` to `to`, which has the same dtype and number of elements. The overloads
/// avoid the copy of the shape that a conversion between views makes.
void copy_elements(const TensorView& from, const TensorView& to);
void copy_elements(const ConstTensorView& from, const TensorView& to);

/// Allocates 64-byte aligned, zero-filled memory, freed with the pointer; null if the allocation fails.
std::shared_ptr<void> allocate_aligned(size_t bytes);
/// Allocates such memory, of which only what is used takes up room; null if there is not enough.
std::shared_ptr<void> reserve_aligned(size_t bytes);

}  // namespace intarsia
