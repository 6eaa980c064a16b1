#include "value.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <utility>

namespace intarsia_python {
namespace {

Value make_tensor(int32_t dtype, std::vector<int64_t> shape, Bytes bytes) {
  Value value;
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.bytes = std::move(bytes);
  return value;
}

Value make_strings(std::vector<int64_t> shape, std::vector<nb::bytes> texts) {
  Value value;
  value.dtype = INTARSIA_STRING;
  value.shape = std::move(shape);
  value.texts = std::move(texts);
  return value;
}

Value make_items(int32_t kind, std::vector<Value> items) {
  Value value;
  value.kind = kind;
  value.items = std::move(items);
  return value;
}

size_t element_bits(int32_t dtype) {
  static constexpr size_t bits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                    64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
  return dtype >= 0 && dtype < 27 ? bits[dtype] : 0;
}

}  // namespace

intarsia_tensor Value::describe(const char* name) {
  intarsia_tensor tensor{};
  tensor.struct_size = sizeof(tensor);
  tensor.name = name;
  tensor.kind = kind;
  tensor.dtype = dtype;
  tensor.rank = shape.size();
  tensor.shape = shape.data();
  strings.clear();
  item_structs.clear();
  for (const nb::bytes& text : texts) strings.push_back({text.c_str(), text.size()});
  tensor.data = dtype == INTARSIA_STRING ? static_cast<void*>(strings.data())
                : bytes ? const_cast<uint8_t*>(bytes->data())  // cast: outputs use the same struct
                        : nullptr;
  for (Value& item : items) item_structs.push_back(item.describe(nullptr));
  tensor.items = item_structs.data();
  tensor.item_count = item_structs.size();
  return tensor;
}

nb::tuple to_python(const intarsia_tensor& tensor, const OutputOwner& owner) {
  nb::list shape;
  size_t elements = 1;
  for (size_t i = 0; i < tensor.rank; ++i) {
    shape.append(tensor.shape[i]);
    elements *= static_cast<size_t>(tensor.shape[i]);
  }
  nb::list list;
  if (tensor.kind != INTARSIA_TENSOR) {
    for (size_t i = 0; i < tensor.item_count; ++i) list.append(to_python(tensor.items[i], owner));
    return nb::make_tuple(tensor.kind, tensor.dtype, shape, list);
  }
  if (tensor.dtype == INTARSIA_STRING) {
    const auto* strings = static_cast<const intarsia_string*>(tensor.data);
    for (size_t i = 0; i < elements; ++i) list.append(nb::bytes(strings[i].data, strings[i].size));
    return nb::make_tuple(tensor.kind, tensor.dtype, shape, list);
  }
  nb::capsule keeper(new OutputOwner(owner), [](void* at) noexcept { delete static_cast<OutputOwner*>(at); });
  const size_t bytes = (elements * element_bits(tensor.dtype) + 7) / 8;
  nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> data(tensor.data, {bytes}, keeper);
  return nb::make_tuple(tensor.kind, tensor.dtype, shape, nb::cast(data));
}

nb::tuple copy_to_python(const intarsia_tensor& tensor) {
  if (tensor.dtype == INTARSIA_STRING) return to_python(tensor, nullptr);
  size_t elements = 1;
  nb::list shape;
  for (size_t i = 0; i < tensor.rank; ++i) {
    shape.append(tensor.shape[i]);
    elements *= static_cast<size_t>(tensor.shape[i]);
  }
  const size_t bytes = (elements * element_bits(tensor.dtype) + 7) / 8;
  auto* copy = new std::vector<uint8_t>(bytes);
  nb::capsule keeper(copy, [](void* at) noexcept { delete static_cast<std::vector<uint8_t>*>(at); });
  if (bytes > 0) std::memcpy(copy->data(), tensor.data, bytes);
  nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> data(copy->data(), {bytes}, keeper);
  return nb::make_tuple(tensor.kind, tensor.dtype, shape, nb::cast(data));
}

void define_values(nb::module_& module) {
  nb::class_<Value>(module, "Value");
  module.def("tensor", make_tensor);
  module.def("strings", make_strings);
  module.def("items", make_items);
}

}  // namespace intarsia_python
