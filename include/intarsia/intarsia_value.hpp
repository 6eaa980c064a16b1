// Errors, tensors and values of Intarsia for C++17. Part of intarsia.hpp, which programs include.
#ifndef INTARSIA_INTARSIA_VALUE_HPP_
#define INTARSIA_INTARSIA_VALUE_HPP_

#include <intarsia/intarsia.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace intarsia {
inline namespace v1 {

/// Exception that every call here throws. The message is one line: what, where, got, want, remedy.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, int32_t kind = INTARSIA_ERROR_INTERNAL)
      : std::runtime_error(message), kind_(kind) {}
  /// Returns one of INTARSIA_ERROR_..., for programs to branch on.
  int32_t kind() const noexcept { return kind_; }

 private:
  int32_t kind_;
};

namespace detail {

inline void check(intarsia_error* error) {
  if (error == nullptr) return;
  const std::unique_ptr<intarsia_error, void (*)(intarsia_error*)> owner(error, intarsia_error_release);
  throw Error(intarsia_error_message(error), intarsia_error_kind(error));
}

template <typename T>
constexpr int32_t dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return INTARSIA_F32;
  else if constexpr (std::is_same_v<T, double>)
    return INTARSIA_F64;
  else if constexpr (std::is_same_v<T, bool>)
    return INTARSIA_BOOL;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return INTARSIA_C64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return INTARSIA_C128;
  else if constexpr (std::is_same_v<T, intarsia_string>)
    return INTARSIA_STRING;
  else {
    static_assert(std::is_integral_v<T>, "name the dtype of such elements: View(data, dtype, shape)");
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? INTARSIA_I8 : INTARSIA_U8;
    if constexpr (sizeof(T) == 2) return is_signed ? INTARSIA_I16 : INTARSIA_U16;
    if constexpr (sizeof(T) == 4) return is_signed ? INTARSIA_I32 : INTARSIA_U32;
    return is_signed ? INTARSIA_I64 : INTARSIA_U64;
  }
}

}  // namespace detail

/// A dense row-major tensor in the caller's memory, which must outlive its use.
struct View {
  void* data = nullptr;
  int32_t dtype = INTARSIA_UNDEFINED;
  std::vector<int64_t> shape;

  View() = default;
  View(void* data, int32_t dtype, std::vector<int64_t> shape)
      : data(data), dtype(dtype), shape(std::move(shape)) {}
  /// Deduces the dtype from T: float, double, bool, integers, std::complex, intarsia_string.
  template <typename T>
  View(T* data, std::vector<int64_t> shape)
      : data(const_cast<std::remove_const_t<T>*>(data)),
        dtype(detail::dtype_of<std::remove_const_t<T>>()),
        shape(std::move(shape)) {}
};

/// A value that a run produced. Owns its memory, independently of session and program. Move-only.
class Value {
 public:
  Value() = default;
  explicit Value(const intarsia_tensor& tensor) : tensor_(tensor) {}
  Value(Value&& other) noexcept : tensor_(std::exchange(other.tensor_, empty())) {}
  Value& operator=(Value&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~Value() { intarsia_tensor_release(&tensor_); }

  int32_t kind() const { return tensor_.kind; }
  int32_t dtype() const { return tensor_.dtype; }
  std::vector<int64_t> shape() const { return {tensor_.shape, tensor_.shape + tensor_.rank}; }
  size_t size() const {
    size_t elements = 1;
    for (size_t i = 0; i < tensor_.rank; ++i) elements *= static_cast<size_t>(tensor_.shape[i]);
    return elements;
  }
  /// Returns the elements; throws if T does not match the dtype.
  template <typename T>
  T* data() const {
    if (detail::dtype_of<T>() != tensor_.dtype)
      throw Error("intarsia::Value::data: requested as another element type",
                  INTARSIA_ERROR_INVALID_ARGUMENT);
    return static_cast<T*>(tensor_.data);
  }
  void* raw_data() const { return tensor_.data; }
  std::string_view string(size_t i) const {
    const intarsia_string& text = data<intarsia_string>()[i];
    return {text.data, text.size};
  }
  /// Returns the C struct, whose items and item_count hold sequences, optionals and maps.
  const intarsia_tensor& tensor() const { return tensor_; }

 private:
  static intarsia_tensor empty() {
    intarsia_tensor tensor{};
    tensor.struct_size = sizeof(tensor);
    return tensor;
  }
  intarsia_tensor tensor_ = empty();
};

}  // namespace v1
}  // namespace intarsia

#endif  // INTARSIA_INTARSIA_VALUE_HPP_
