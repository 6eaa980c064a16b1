#include "backends/tensorflow/tensor.h"

#include "tensorflow/dtypes.h"

namespace intarsia::tf {
namespace {

void release_nothing(void*, size_t, void*) {}

/// Releases a string tensor's memory, and what its strings point to, which is not part of it.
void release_strings(void* data, size_t bytes, void*) {
  const Api& api = (*Library::get())->api();  // the library is open, as it calls this
  auto* strings = static_cast<TF_TString*>(data);
  for (size_t i = 0; i < bytes / sizeof(TF_TString); ++i) api.string_release(&strings[i]);
  delete[] strings;
}

OwnedTensor copy_string_tensor(const Library& library, const ConstTensorView& tensor) {
  const Api& api = library.api();
  const std::span<const std::string> texts = tensor.as<std::string>();
  auto* strings = new TF_TString[texts.size()];
  for (size_t i = 0; i < texts.size(); ++i) {
    api.string_init(&strings[i]);
    api.string_copy(&strings[i], texts[i].data(), texts[i].size());
  }
  return {api.new_tensor(tensorflow::data_type_of(DType::string), tensor.shape.data(),
                         static_cast<int>(tensor.shape.size()), strings, texts.size() * sizeof(TF_TString),
                         release_strings, nullptr),
          {&library}};
}

}  // namespace

Result<OwnedTensor> wrap_tensor(const Library& library, const ConstTensorView& tensor) {
  if (tensor.dtype == DType::string) return copy_string_tensor(library, tensor);
  const int type = tensorflow::data_type_of(tensor.dtype);
  if (type == 0) return fail("TensorFlow has no type {}", dtype_name(tensor.dtype));
  alignas(64) static char nothing;  // an empty tensor may have no memory, but TensorFlow wants an address
  void* data = tensor.data != nullptr ? const_cast<void*>(tensor.data) : &nothing;  // the C API has no const
  TF_Tensor* made = library.api().new_tensor(type, tensor.shape.data(), static_cast<int>(tensor.shape.size()),
                                             data, tensor.bytes(), release_nothing, nullptr);
  if (made == nullptr)
    return fail("TensorFlow takes no {} {} of {} bytes", dtype_name(tensor.dtype), print_shape(tensor.shape),
                tensor.bytes());
  return OwnedTensor(made, {&library});
}

Result<TensorView> describe_tensor(const Library& library, const TF_Tensor* tensor) {
  const Api& api = library.api();
  TensorView view;
  view.dtype = tensorflow::dtype_of(api.tensor_type(tensor));
  if (view.dtype == DType::undefined)
    return fail("TensorFlow returned a tensor of its type {}, which cannot leave it",
                api.tensor_type(tensor));
  const int rank = api.rank(tensor);
  for (int axis = 0; axis < rank; ++axis) view.shape.push_back(api.size(tensor, axis));
  if (view.dtype != DType::string) view.data = api.tensor_data(tensor);
  return view;
}

void copy_strings(const Library& library, const TF_Tensor* tensor, std::span<std::string> to) {
  const Api& api = library.api();
  const auto* strings = static_cast<const TF_TString*>(api.tensor_data(tensor));
  for (size_t i = 0; i < to.size(); ++i)
    to[i].assign(api.string_data(&strings[i]), api.string_bytes(&strings[i]));
}

Result<Tensor> adopt_tensor(const Library& library, OwnedTensor tensor) {
  TensorView view = TRY(describe_tensor(library, tensor.get()));
  if (view.dtype == DType::string) {
    Tensor copy(view.dtype, view.shape);
    copy_strings(library, tensor.get(), copy.as<std::string>());
    return copy;
  }
  return Tensor(std::move(view), std::shared_ptr<void>(std::shared_ptr<TF_Tensor>(std::move(tensor))));
}

}  // namespace intarsia::tf
