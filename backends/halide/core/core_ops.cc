#include "backends/halide/core/core_ops.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

constexpr CoreOp core_ops[] = {
    {"Reshape", Form::view},         {"Transpose", Form::view},
    {"Slice", Form::view},           {"Expand", Form::view},
    {"Concat", Form::concat},        {"Copy", Form::movement},
    {"Pad", Form::movement},         {"Tile", Form::movement},
    {"Gather", Form::movement},      {"GatherElements", Form::movement},
    {"GatherND", Form::movement},    {"Trilu", Form::movement},
    {"OneHot", Form::movement},      {"ReverseSequence", Form::movement},
    {"Interpolate", Form::movement}, {"Conv", Form::contraction},
    {"MatMul", Form::contraction},   {"MaxPool", Form::window},
    {"AveragePool", Form::window},   {"LpPool", Form::window},
    {"LRN", Form::window},           {"ReduceSum", Form::rows},
    {"ReduceMean", Form::rows},      {"ReduceMax", Form::rows},
    {"ReduceMin", Form::rows},       {"ReduceProd", Form::rows},
    {"ArgMax", Form::rows},          {"ArgMin", Form::rows},
    {"CumSum", Form::scan},          {"LSTM", Form::recurrence},
    {"GRU", Form::recurrence},       {"RNN", Form::recurrence},
};

template <typename T>
double first(const Tensor& tensor) {
  return static_cast<double>(*static_cast<const T*>(tensor.data()));
}

}  // namespace

const CoreOp* find_core_op(std::string_view name) {
  auto at = std::ranges::find(core_ops, name, &CoreOp::name);
  return at == std::end(core_ops) ? nullptr : at;
}

Form form_of(const Node& node) {
  const CoreOp* op = find_core_op(node.op);
  return op ? op->form : Form::elementwise;
}

std::optional<double> read_scalar(const Tensor& tensor) {
  if (element_count(tensor.shape()) != 1) return std::nullopt;
  switch (tensor.dtype()) {
    case DType::f32:
      return first<float>(tensor);
    case DType::f64:
      return first<double>(tensor);
    case DType::i64:
      return first<int64_t>(tensor);
    case DType::u64:
      return first<uint64_t>(tensor);
    case DType::i32:
      return first<int32_t>(tensor);
    case DType::u32:
      return first<uint32_t>(tensor);
    case DType::i16:
      return first<int16_t>(tensor);
    case DType::u16:
      return first<uint16_t>(tensor);
    case DType::i8:
      return first<int8_t>(tensor);
    case DType::u8:
    case DType::boolean:
      return first<uint8_t>(tensor);
    default:
      return std::nullopt;
  }
}

bool all_are(const std::vector<int64_t>& numbers, int64_t wanted) {
  return std::ranges::all_of(numbers, [&](int64_t number) { return number == wanted; });
}

bool is_supported_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
    case DType::i64:
    case DType::u64:
    case DType::i32:
    case DType::u32:
    case DType::i16:
    case DType::u16:
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return true;
    default:
      return false;
  }
}

}  // namespace intarsia::halide
