// Conversions between intarsia_tensor and NamedTensor.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "include/intarsia/intarsia.h"
#include "runtime/load_program.h"
#include "runtime/named_tensor.h"

namespace intarsia::api {

/// Returns the i-th of an array whose elements are as large as the caller's header says. `Struct` is
/// intarsia_tensor or intarsia_shape, possibly const.
template <typename Struct>
Struct& element(Struct* structs, size_t i) {
  static_assert(std::is_same_v<std::remove_const_t<Struct>, intarsia_tensor> ||
                std::is_same_v<Struct, intarsia_shape>);
  using Byte = std::conditional_t<std::is_const_v<Struct>, const std::byte, std::byte>;
  return *reinterpret_cast<Struct*>(reinterpret_cast<Byte*>(structs) + i * structs->struct_size);
}

/// Checks that all of them have one size, at least that of the first version's struct.
Status check_sizes(const char* what, const intarsia_tensor* tensors, size_t count);

/// Reads an input. Strings are copied into `strings`, which must outlive the run; opaque values are packed by
/// their backend. `named` keeps its memory from run to run, so that a run allocates nothing.
Status read_input(const intarsia_tensor& from, const RunBackend* backend, const fbs::ValueT* value,
                  NamedTensor& named, Tensor& strings);

/// Reads the caller's inputs, whose memory is used in place; strings are copied.
Result<std::vector<NamedValue>> read_inputs(const intarsia_tensor* inputs, size_t count);

/// Sets the output's name and the caller's buffer.
Status read_output(const intarsia_tensor& from, NamedTensor& named);

/// Writes an output after the run: memory that the library allocated goes to the caller with its owner.
Status write_output(const NamedTensor& named, const RunBackend* backend, const fbs::ValueT* value,
                    intarsia_tensor& to);

/// Returns a view for the dump hook, which owns nothing; `name` and `tensor` must outlive it.
intarsia_tensor view_tensor(const std::string& name, const TensorView& tensor);

void release_tensor(intarsia_tensor& tensor);

}  // namespace intarsia::api
