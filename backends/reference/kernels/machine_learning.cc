#include "backends/reference/kernels/machine_learning.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/reference/kernels/kernel_families.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {
namespace {

constexpr std::string_view domain = "ai.onnx.ml";

Status array_feature_extractor(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  if (x.shape.empty()) return fail("input 0 is a scalar");
  std::vector<int64_t> places = TRY(context.input_ints(1));
  const int64_t size = x.shape.back();
  for (int64_t place : places) {
    if (place < 0 || place >= size) return fail("index {} is out of range for the size {}", place, size);
  }
  Shape shape = x.shape;
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  shape.back() = static_cast<int64_t>(places.size());
  TRY(checked_elements(shape));
  TensorView y = TRY(context.output(0, x.dtype, shape));
  if (element_count(shape) == 0) return {};
  ConstTensorView rows = x;
  if (rows.shape.size() == 1) rows.shape.insert(rows.shape.begin(), 1);
  AxisMaps maps;
  for (size_t i = 0; i + 1 < shape.size(); ++i) maps.push_back(identity_map(shape[i]));
  maps.push_back(std::move(places));
  return copy_mapped(rows, maps, nullptr, y);
}

Status binarizer(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const double threshold = context.attributes().get_float("threshold", 0);
  const TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch_number(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    WriteAs<T> out(y);
    for (int64_t i = 0; i < in.size(); ++i) out[i] = static_cast<double>(in[i]) > threshold ? T(1) : T(0);
    return {};
  });
}

template <typename T>
Tensor list_tensor(DType dtype, const std::vector<T>& values, bool scalar = false) {
  Tensor tensor(dtype, scalar ? Shape{} : Shape{static_cast<int64_t>(values.size())});
  std::ranges::copy(values, tensor.as<T>().begin());
  return tensor;
}

/// Returns the attribute keys_... or values_..., whichever type it is given in.
Result<Tensor> label_list(const Attributes& attributes, const std::string& kind) {
  if (const Tensor* tensor = attributes.get_tensor(kind + "_tensor")) return *tensor;
  if (attributes.has(kind + "_strings")) {
    return list_tensor(DType::string, attributes.get_strings(kind + "_strings"));
  }
  if (attributes.has(kind + "_int64s")) return list_tensor(DType::i64, attributes.get_ints(kind + "_int64s"));
  if (attributes.has(kind + "_floats"))
    return list_tensor(DType::f32, attributes.get_floats(kind + "_floats"));
  return fail("the {} are missing", kind);
}

Result<Tensor> label_default(const Attributes& attributes, DType dtype) {
  if (const Tensor* tensor = attributes.get_tensor("default_tensor")) {
    if (tensor->dtype() == dtype && element_count(tensor->shape()) == 1) return *tensor;
    return fail("default_tensor does not fit the values");
  }
  if (dtype == DType::string) {
    return list_tensor<std::string>(dtype, {attributes.get_string("default_string", "_Unused")}, true);
  }
  Tensor fallback(dtype, {});
  const double value = is_float(dtype) ? attributes.get_float("default_float", -0.0F)
                                       : static_cast<double>(attributes.get_int("default_int64", -1));
  if (!is_number(dtype)) return unsupported(dtype);
  write_numbers(&value, fallback.view());
  return fallback;
}

/// Returns every element as text for finding equal ones; all NaN are one key, as are 0 and -0.
Result<std::vector<std::string>> label_keys(const ConstTensorView& view) {
  std::vector<std::string> keys;
  if (view.dtype == DType::string) {
    keys.assign(view.as<std::string>().begin(), view.as<std::string>().end());
  } else if (is_float(view.dtype)) {
    for (double value : ReadAs<double>(view))
      keys.push_back(std::isnan(value) ? "nan" : fmt::format("{:a}", value + 0.0));
  } else if (is_number(view.dtype)) {
    for (int64_t value : ReadAs<int64_t>(view)) keys.push_back(std::to_string(value));
  } else {
    return unsupported(view.dtype);
  }
  return keys;
}

/// Sets keys and values of version 1, which maps strings to their places and back by one list.
Status use_classes(const Attributes& attributes, DType dtype, Tensor& keys, Tensor& values) {
  keys = list_tensor(DType::string, attributes.get_strings("classes_strings"));
  values = list_tensor(DType::i64, identity_map(element_count(keys.shape())));
  if (dtype != DType::string) std::swap(keys, values);
  return {};
}

Status label_encoder(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const Attributes& attributes = context.attributes();
  Tensor keys, values;
  if (attributes.has("classes_strings")) {
    TRY(use_classes(attributes, x.dtype, keys, values));
  } else {
    keys = TRY(label_list(attributes, "keys"));
    values = TRY(label_list(attributes, "values"));
  }
  const std::vector<std::string> known = TRY(label_keys(keys.view()));
  if (static_cast<int64_t>(known.size()) != element_count(values.shape()) || keys.dtype() != x.dtype) {
    return fail("{} keys of {} for {} values and the input {}", known.size(), dtype_name(keys.dtype()),
                element_count(values.shape()), dtype_name(x.dtype));
  }
  std::map<std::string, int64_t> places;
  for (size_t i = 0; i < known.size(); ++i) places.emplace(known[i], static_cast<int64_t>(i));
  std::vector<int64_t> map;
  for (const std::string& key : TRY(label_keys(x))) {
    const auto found = places.find(key);
    map.push_back(found == places.end() ? -1 : found->second);
  }
  const Tensor fallback = TRY(label_default(attributes, values.dtype()));
  TensorView y = TRY(context.output(0, values.dtype(), x.shape));
  if (map.empty()) return {};
  ConstTensorView from = values.view();
  from.shape = {element_count(from.shape)};
  y.shape = {element_count(y.shape)};
  return copy_mapped(from, {map}, &fallback, y);
}

constexpr KernelEntry machine_learning_rows[] = {
    {"ArrayFeatureExtractor", domain, array_feature_extractor},
    {"Binarizer", domain, binarizer},
    {"LabelEncoder", domain, label_encoder},
    {"TreeEnsemble", domain, tree_ensemble},
    {"TreeEnsembleRegressor", domain, tree_regressor},
};

}  // namespace

std::span<const KernelEntry> machine_learning_kernels() { return machine_learning_rows; }

}  // namespace intarsia::reference
