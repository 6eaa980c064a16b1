// Tensors between Python and the C API: flat byte arrays with a dtype number and a shape, which the package
// turns into numpy arrays without a copy.
#pragma once

#include <intarsia/intarsia.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <vector>

namespace intarsia_python {

namespace nb = nanobind;

using Bytes = nb::ndarray<nb::ro, uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Input as the package passes it. Owns the shape and, for strings and sequences, their parts.
struct Value {
  int32_t kind = INTARSIA_TENSOR;
  int32_t dtype = 0;
  std::vector<int64_t> shape;
  std::optional<Bytes> bytes;
  std::vector<nb::bytes> texts;
  std::vector<intarsia_string> strings;
  std::vector<Value> items;
  std::vector<intarsia_tensor> item_structs;

  /// Returns the value in the form of the C API; refers to the value, which must outlive it.
  intarsia_tensor describe(const char* name);
};

/// Memory of an output, freed with the last array that refers to it.
using OutputOwner = std::shared_ptr<intarsia_tensor>;

/// Returns (kind, dtype, shape, payload), where payload is a byte array, a list of bytes (strings) or a list
/// of such tuples.
nb::tuple to_python(const intarsia_tensor& tensor, const OutputOwner& owner);

/// Returns the tuple of to_python() with a copy of memory that lives only for a call.
nb::tuple copy_to_python(const intarsia_tensor& tensor);

/// Adds Value and its factories: tensor, strings, items.
void define_values(nb::module_& module);

}  // namespace intarsia_python
