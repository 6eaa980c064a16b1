#include "backends/openvino/tensor.h"

#include <algorithm>
#include <iterator>

namespace intarsia::openvino {
namespace {

/// Element types by OpenVINO's numbers.
constexpr DType dtypes[] = {
    DType::undefined, DType::boolean,   DType::bf16, DType::f16,       DType::f32,
    DType::f64,       DType::i4,        DType::i8,   DType::i16,       DType::i32,
    DType::i64,       DType::undefined, DType::u2,   DType::undefined, DType::u4,
    DType::undefined, DType::u8,        DType::u16,  DType::u32,       DType::u64,
};

}  // namespace

DType dtype_of(uint32_t type) { return type < std::size(dtypes) ? dtypes[type] : DType::undefined; }

Result<Owned<TensorHandle>> wrap_tensor(const Library& library, const ConstTensorView& tensor) {
  const auto type = std::ranges::find(dtypes, tensor.dtype);
  if (tensor.dtype == DType::undefined || type == std::end(dtypes))
    return fail("cannot pass {} to OpenVINO", dtype_name(tensor.dtype));
  static char nothing;  // an empty tensor may have no memory, but the library wants an address
  // The library's interface has no const.
  void* data = tensor.data != nullptr ? const_cast<void*>(tensor.data) : &nothing;
  const OvShape shape{static_cast<int64_t>(tensor.shape.size()), const_cast<int64_t*>(tensor.shape.data())};
  TensorHandle* raw = nullptr;
  TRY(library.check(library.api().ov_tensor_create_from_host_ptr(
      static_cast<uint32_t>(type - std::begin(dtypes)), shape, data, &raw)));
  return Owned<TensorHandle>(raw, library.api().ov_tensor_free);
}

Result<TensorView> view_tensor(const Library& library, const TensorHandle* tensor) {
  const Api& api = library.api();
  TensorView view;
  uint32_t type = 0;
  OvShape shape{};
  TRY(library.check(api.ov_tensor_get_element_type(tensor, &type)));
  TRY(library.check(api.ov_tensor_data(tensor, &view.data)));
  TRY(library.check(api.ov_tensor_get_shape(tensor, &shape)));
  view.shape.assign(shape.sizes, shape.sizes + shape.rank);
  TRY(library.check(api.ov_shape_free(&shape)));
  view.dtype = dtype_of(type);
  if (view.dtype == DType::undefined) return fail("it has OpenVINO's element type {}", type);
  return view;
}

}  // namespace intarsia::openvino
