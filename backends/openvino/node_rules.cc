#include "backends/openvino/node_rules.h"

#include <algorithm>
#include <limits>

#include "backends/openvino/node_forms.h"
#include "graph/data_sizes.h"

namespace intarsia::openvino {
namespace {

/// Operators, each between two spaces, whose output elements are those of their inputs, whatever the type.
constexpr std::string_view moving_operators =
    " Concat Expand Flatten Gather Identity Reshape Slice Split Squeeze Tile Transpose Unsqueeze ";

/// Operators on f32 and bool, without Greater, GreaterOrEqual (true for NaN), ThresholdedRelu (NaN for an
/// infinity), Mod (NaN where one operand is large).
constexpr std::string_view computing_operators =
    " Abs Acos Acosh Add And Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil Clip "
    "ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DepthToSpace Div Dropout Einsum Elu Equal "
    "Erf Exp Floor GRU GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool "
    "GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization IsInf IsNaN LRN LSTM "
    "LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization LpPool MatMul Max "
    "MaxPool Mean MeanVarianceNormalization Min Mish Mul Neg Not Or PRelu Pad Pow RMSNormalization "
    "RNN Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum ReduceSumSquare Relu Resize Round Selu Sigmoid Sign Sin Sinh Softmax "
    "Softplus Softsign SpaceToDepth Sqrt Sub Sum Swish Tan Tanh Trilu Where Xor ";

/// Operators between f32 and u8 or i8. The quotient that is rounded has a rounding error of its own, and
/// half-way numbers are rounded after the zero point is added: there the result may be the neighboring step.
constexpr std::string_view quantizing_operators = " DequantizeLinear QuantizeLinear ";

bool is_among(std::string_view operators, const Node& node) {
  return operators.contains(" " + node.op + " ");
}

bool moves(const Node& node) { return is_among(moving_operators, node); }

bool quantizes(const Node& node) { return is_among(quantizing_operators, node); }

bool is_computed(DType dtype) { return dtype == DType::f32 || dtype == DType::boolean; }

bool is_quantized(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

bool is_f32(DType dtype) { return dtype == DType::f32; }

/// Operators that reduce to the largest or least element, which OpenVINO looks for among whole numbers where
/// the result is quantized, also after elementwise operators.
constexpr std::string_view extreme_operators = " GlobalMaxPool ReduceMax ReduceMin ";

/// Checks whether the graph quantizes numbers.
bool has_quantization(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == "QuantizeLinear"; });
}

/// Checks whether a node computes a constant where nothing reads an input: what OpenVINO loads then lacks it.
bool leaves_inputs_out(const Graph& graph, const Node& node) {
  const bool reads_constants = std::ranges::all_of(node.inputs, [&](ValueId value) {
    return value == no_value || graph.value(value).constant.has_value();
  });
  return reads_constants && std::ranges::any_of(graph.inputs, [&](ValueId input) {
           return std::ranges::none_of(graph.nodes, [&](const Node& other) {
             const std::vector<ValueId> reads = values_read(other);
             return std::ranges::find(reads, input) != reads.end();
           });
         });
}

/// Checks whether elements of the type pass unchanged from an input to an output.
bool is_moved_exactly(DType dtype) {
  return is_computed(dtype) || dtype == DType::i32 || is_quantized(dtype);
}

bool is_integer_index(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

/// Checks whether input `i` selects elements of another one, whose sizes are below 2^31.
bool is_index(const Node& node, size_t i) {
  return i == 1 && (node.op == "Gather" || node.op == "GatherElements" || node.op == "GatherND");
}

/// Checks whether the elements of a constant fit into i32.
bool fits_i32(const Tensor& tensor) {
  using Limits = std::numeric_limits<int32_t>;
  return tensor.dtype() != DType::i64 || std::ranges::all_of(tensor.as<int64_t>(), [](int64_t item) {
           return item >= Limits::min() && item <= Limits::max();
         });
}

Support check_constant(const Node& node, const Value& value) {
  const DType dtype = value.constant->dtype();
  if (!is_moved_exactly(dtype) && dtype != DType::i64)
    return Support::refused(fmt::format("OpenVINO does not compute in {}", dtype_name(dtype)));
  // Slice clamps bounds beyond all sizes to those sizes.
  if (node.op != "Slice" && !fits_i32(*value.constant))
    return Support::refused(fmt::format("OpenVINO computes i64 in i32, which '{}' does not fit", value.name));
  return Support::supported();
}

Support check_type(const Graph& graph, const Node& node, const Value& value, bool (*may_be)(DType)) {
  const ValueType& type = value.type;
  if (type.opaque) return Support::refused("OpenVINO has only tensors");
  if (!type.shape) return Support::refused(fmt::format("the rank of '{}' is not known", value.name));
  for (const Dim& size : *type.shape) {
    if (depends_on_data(graph, size))
      return Support::refused(fmt::format("a size of '{}' depends on data", value.name));
    if (size.is_number() && size.number() == 0)
      return Support::refused(fmt::format("'{}' has no elements", value.name));
  }
  if (may_be(type.dtype)) return Support::supported();
  return Support::refused(fmt::format("OpenVINO does not compute {} in {}", node.op, dtype_name(type.dtype)));
}

/// Returns the check for the types of the operator's outputs.
bool (*output_types(const Node& node))(DType) {
  if (quantizes(node)) return node.op == "QuantizeLinear" ? is_quantized : is_f32;
  return moves(node) ? is_moved_exactly : is_computed;
}

Support check_input(const Graph& graph, const Node& node, size_t i) {
  const Value& value = graph.value(node.inputs[i]);
  if (value.constant) return check_constant(node, value);
  if (is_index(node, i)) return check_type(graph, node, value, is_integer_index);
  if (quantizes(node))
    return check_type(graph, node, value, node.op == "QuantizeLinear" ? is_f32 : is_quantized);
  return check_type(graph, node, value, moves(node) || node.op == "Cast" ? is_moved_exactly : is_computed);
}

Support check_operator(const Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx")
    return Support::refused(fmt::format("only operators of ONNX, got {}.{}", node.domain, node.op));
  if (!moves(node) && !quantizes(node) && !is_among(computing_operators, node))
    return Support::refused(fmt::format("{} is not among the operators that OpenVINO is used for", node.op));
  // OpenVINO ignores attributes that it does not know.
  if (node.op == "SpaceToDepth" && node.attributes.get_string("mode", "DCR") != "DCR")
    return Support::refused("OpenVINO has SpaceToDepth of mode DCR only");
  if (node.op == "Dropout" && (node.version < 7 || has_input(node, 2)))
    return Support::refused("a Dropout of a training");
  for (const Attributes::Entry& entry : node.attributes) {
    if (std::holds_alternative<EncodedAttribute>(entry.value))
      return Support::refused(
          fmt::format("attribute '{}' is not a number, a string or a tensor", entry.name));
  }
  return Support::supported();
}

}  // namespace

Support computes_exactly(const Graph& graph, const Node& node) {
  if (const Support known = check_operator(node); !known.yes) return known;
  if (const Support form = check_form(graph, node); !form.yes) return form;
  if (node.op == "Cast" && has_output(node, 0) && graph.value(node.outputs[0]).type.dtype == DType::boolean)
    return Support::refused("OpenVINO casts NaN to false");
  if (leaves_inputs_out(graph, node))
    return Support::refused(fmt::format("OpenVINO drops inputs that {} does not depend on", node.op));
  if (is_among(extreme_operators, node) && has_quantization(graph))
    return Support::refused(
        fmt::format("OpenVINO computes {} in integers where its result is quantized", node.op));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!has_input(node, i)) continue;
    if (const Support input = check_input(graph, node, i); !input.yes) return input;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!has_output(node, i)) continue;
    const Value& value = graph.value(node.outputs[i]);
    const Support output = check_type(graph, node, value, output_types(node));
    if (!output.yes) return output;
  }
  return Support::supported();
}

}  // namespace intarsia::openvino
