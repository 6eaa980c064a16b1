#include "backends/halide/core/core_ops.h"

#include <algorithm>
#include <array>
#include <map>

#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {
namespace {

struct Row {
  CoreOp op;
  std::string_view name;
  Form form;
};

constexpr auto rows = std::to_array<Row>({
    {CoreOp::reshape, "Reshape", Form::view},
    {CoreOp::transpose, "Transpose", Form::view},
    {CoreOp::slice, "Slice", Form::view},
    {CoreOp::expand, "Expand", Form::view},
    {CoreOp::concat, "Concat", Form::concat},
    {CoreOp::copy, "Copy", Form::movement},
    {CoreOp::pad, "Pad", Form::movement},
    {CoreOp::tile, "Tile", Form::movement},
    {CoreOp::gather, "Gather", Form::movement},
    {CoreOp::gather_elements, "GatherElements", Form::movement},
    {CoreOp::gather_nd, "GatherND", Form::movement},
    {CoreOp::trilu, "Trilu", Form::movement},
    {CoreOp::one_hot, "OneHot", Form::movement},
    {CoreOp::reverse_sequence, "ReverseSequence", Form::movement},
    {CoreOp::sequence_mask, "SequenceMask", Form::movement},
    {CoreOp::interpolate, "Interpolate", Form::movement},
    {CoreOp::resize_places, "ResizePlaces", Form::movement},
    {CoreOp::resize_weights, "ResizeWeights", Form::movement},
    {CoreOp::elements, "Elements", Form::movement},
    {CoreOp::range, "Range", Form::movement},
    {CoreOp::tensor_scatter, "TensorScatter", Form::movement},
    {CoreOp::grid_sample, "GridSample", Form::movement},
    {CoreOp::deform_sample, "DeformSample", Form::movement},
    {CoreOp::conv, "Conv", Form::contraction},
    {CoreOp::matmul, "MatMul", Form::contraction},
    {CoreOp::max_pool, "MaxPool", Form::window},
    {CoreOp::average_pool, "AveragePool", Form::window},
    {CoreOp::lrn, "LRN", Form::window},
    {CoreOp::cum_sum, "CumSum", Form::scan},
    {CoreOp::cum_prod, "CumProd", Form::scan},
    {CoreOp::scatter_elements, "ScatterElements", Form::scatter},
    {CoreOp::scatter_nd, "ScatterND", Form::scatter},
    {CoreOp::fold, "Fold", Form::scatter},
    {CoreOp::top_k, "TopK", Form::routine},
    {CoreOp::roi_align, "RoiAlign", Form::routine},
    {CoreOp::max_roi_pool, "MaxRoiPool", Form::routine},
    {CoreOp::max_unpool, "MaxUnpool", Form::routine},
    {CoreOp::tree_ensemble, "TreeEnsemble", Form::routine},
    {CoreOp::non_zero, "NonZero", Form::routine},
    {CoreOp::compress, "Compress", Form::routine},
    {CoreOp::unique, "Unique", Form::routine},
    {CoreOp::non_max_suppression, "NonMaxSuppression", Form::routine},
    {CoreOp::random, "Random", Form::routine},
    {CoreOp::lstm, "LSTM", Form::recurrence},
    {CoreOp::gru, "GRU", Form::recurrence},
    {CoreOp::rnn, "RNN", Form::recurrence},
    {CoreOp::reduce_sum, "ReduceSum", Form::reduction},
    {CoreOp::reduce_mean, "ReduceMean", Form::reduction},
    {CoreOp::reduce_max, "ReduceMax", Form::reduction},
    {CoreOp::reduce_min, "ReduceMin", Form::reduction},
    {CoreOp::reduce_prod, "ReduceProd", Form::reduction},
    {CoreOp::arg_max, "ArgMax", Form::reduction},
    {CoreOp::arg_min, "ArgMin", Form::reduction},
    {CoreOp::add, "Add", Form::elementwise},
    {CoreOp::sub, "Sub", Form::elementwise},
    {CoreOp::mul, "Mul", Form::elementwise},
    {CoreOp::div, "Div", Form::elementwise},
    {CoreOp::mod, "Mod", Form::elementwise},
    {CoreOp::max, "Max", Form::elementwise},
    {CoreOp::min, "Min", Form::elementwise},
    {CoreOp::pow, "Pow", Form::elementwise},
    {CoreOp::logical_and, "And", Form::elementwise},
    {CoreOp::logical_or, "Or", Form::elementwise},
    {CoreOp::logical_xor, "Xor", Form::elementwise},
    {CoreOp::logical_not, "Not", Form::elementwise},
    {CoreOp::bitwise_and, "BitwiseAnd", Form::elementwise},
    {CoreOp::bitwise_or, "BitwiseOr", Form::elementwise},
    {CoreOp::bitwise_xor, "BitwiseXor", Form::elementwise},
    {CoreOp::bitwise_not, "BitwiseNot", Form::elementwise},
    {CoreOp::bit_shift, "BitShift", Form::elementwise},
    {CoreOp::equal, "Equal", Form::elementwise},
    {CoreOp::less, "Less", Form::elementwise},
    {CoreOp::less_or_equal, "LessOrEqual", Form::elementwise},
    {CoreOp::greater, "Greater", Form::elementwise},
    {CoreOp::greater_or_equal, "GreaterOrEqual", Form::elementwise},
    {CoreOp::where, "Where", Form::elementwise},
    {CoreOp::cast, "Cast", Form::elementwise},
    {CoreOp::bit_cast, "BitCast", Form::elementwise},
    {CoreOp::quantize, "Quantize", Form::elementwise},
    {CoreOp::dequantize, "Dequantize", Form::elementwise},
    {CoreOp::abs, "Abs", Form::elementwise},
    {CoreOp::neg, "Neg", Form::elementwise},
    {CoreOp::sign, "Sign", Form::elementwise},
    {CoreOp::relu, "Relu", Form::elementwise},
    {CoreOp::sqrt, "Sqrt", Form::elementwise},
    {CoreOp::reciprocal, "Reciprocal", Form::elementwise},
    {CoreOp::floor, "Floor", Form::elementwise},
    {CoreOp::ceil, "Ceil", Form::elementwise},
    {CoreOp::round, "Round", Form::elementwise},
    {CoreOp::is_nan, "IsNaN", Form::elementwise},
    {CoreOp::is_inf, "IsInf", Form::elementwise},
    {CoreOp::sin, "Sin", Form::elementwise},
    {CoreOp::cos, "Cos", Form::elementwise},
    {CoreOp::tan, "Tan", Form::elementwise},
    {CoreOp::asin, "Asin", Form::elementwise},
    {CoreOp::acos, "Acos", Form::elementwise},
    {CoreOp::atan, "Atan", Form::elementwise},
    {CoreOp::sinh, "Sinh", Form::elementwise},
    {CoreOp::cosh, "Cosh", Form::elementwise},
    {CoreOp::asinh, "Asinh", Form::elementwise},
    {CoreOp::acosh, "Acosh", Form::elementwise},
    {CoreOp::atanh, "Atanh", Form::elementwise},
    {CoreOp::softsign, "Softsign", Form::elementwise},
    {CoreOp::leaky_relu, "LeakyRelu", Form::elementwise},
    {CoreOp::thresholded_relu, "ThresholdedRelu", Form::elementwise},
    {CoreOp::hard_sigmoid, "HardSigmoid", Form::elementwise},
    {CoreOp::hard_swish, "HardSwish", Form::elementwise},
    {CoreOp::shrink, "Shrink", Form::elementwise},
    {CoreOp::exp, "Exp", Form::elementwise},
    {CoreOp::log, "Log", Form::elementwise},
    {CoreOp::tanh, "Tanh", Form::elementwise},
    {CoreOp::erf, "Erf", Form::elementwise},
    {CoreOp::sigmoid, "Sigmoid", Form::elementwise},
    {CoreOp::softplus, "Softplus", Form::elementwise},
    {CoreOp::mish, "Mish", Form::elementwise},
    {CoreOp::gelu, "Gelu", Form::elementwise},
    {CoreOp::elu, "Elu", Form::elementwise},
    {CoreOp::celu, "Celu", Form::elementwise},
    {CoreOp::selu, "Selu", Form::elementwise},
});

consteval bool is_in_order() {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].op != static_cast<CoreOp>(i)) return false;
  return rows.size() == core_op_count;
}
static_assert(is_in_order(), "a row for each enumerator, in their order");

const Row& row_of(CoreOp op) {
  INTARSIA_CHECK(static_cast<size_t>(op) < rows.size());
  return rows[static_cast<size_t>(op)];
}

template <typename T>
double first(const Tensor& tensor) {
  return static_cast<double>(*static_cast<const T*>(tensor.data()));
}

}  // namespace

std::string_view name_of(Form form) {
  constexpr auto names =
      std::to_array<std::string_view>({"elementwise", "movement", "view", "concat", "contraction", "window",
                                       "reduction", "scan", "scatter", "routine", "attention", "recurrence"});
  return names.at(static_cast<size_t>(form));
}

std::string_view name_of(CoreOp op) { return row_of(op).name; }

std::optional<CoreOp> find_core_op(std::string_view name) {
  const auto at = std::ranges::find(rows, name, &Row::name);
  return at == rows.end() ? std::nullopt : std::optional(at->op);
}

CoreOp op_of(const Node& node) {
  const std::optional<CoreOp> op = find_core_op(node.op);
  INTARSIA_CHECK(op.has_value());  // canonicalization leaves no other operators
  return *op;
}

Form form_of(CoreOp op) { return row_of(op).form; }

bool computes_in_f64(const Graph& graph) {
  const auto is_table = [](const Node& node) {
    return op_of(node) == CoreOp::resize_places || op_of(node) == CoreOp::resize_weights;
  };
  return std::ranges::any_of(graph.nodes, is_table) ||
         std::ranges::any_of(graph.values, [](const Value& value) { return value.type.dtype == DType::f64; });
}

std::optional<double> read_scalar(const Tensor& tensor) {
  if (element_count(tensor.shape()) != 1) return std::nullopt;
  switch (tensor.dtype()) {
    case DType::f32:
      return first<float>(tensor);
    case DType::f64:
      return first<double>(tensor);
    case DType::f16:
    case DType::bf16:
      return read_half_float(tensor.dtype(), tensor.as<uint16_t>()[0]);
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

bool all_are(const SymbolicShape& sizes, int64_t wanted) {
  return std::ranges::all_of(sizes, [&](const Dim& size) { return size == wanted; });
}

int64_t evaluate(const Dim& size, const std::map<std::string, Dim>& open_sizes) {
  const Dim value = size.substitute(open_sizes);
  return value.is_number() ? value.number() : 0;
}

int64_t evaluate(const Dim& size, int64_t open_size) {
  std::map<std::string, Dim> values;
  for (const std::string& symbol : size.symbols()) values[symbol] = open_size;
  return evaluate(size, values);
}

Shape typical_shape(const SymbolicShape& sizes) {
  Shape shape;
  for (const Dim& size : sizes) shape.push_back(typical(size));
  return shape;
}

}  // namespace intarsia::halide
