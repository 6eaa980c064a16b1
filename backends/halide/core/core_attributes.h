// Parameters of core operators: a struct for each family. A node keeps them as the attributes of its text
// form; here they are read and written as a whole, with their types.
//   const ConvAttributes conv = attributes_of<ConvAttributes>(node);   ... conv.strides[0] ...
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "backends/halide/abi/counted.h"
#include "backends/halide/core/core_ops.h"

namespace intarsia::halide {

// Structs list their fields once each, in `fields`: a name in the text and the member. A field with a third
// argument is omitted from the text if it equals that; all others are always there. Members that follow from
// the sizes of tensors are expressions where these are open.

struct NoAttributes {
  static void fields(auto&, auto&&) {}
  bool operator==(const NoAttributes&) const = default;
};

struct TransposeAttributes {
  std::vector<int64_t> perm;
  static void fields(auto& a, auto&& field) { field("perm", a.perm); }
  bool operator==(const TransposeAttributes&) const = default;
};

/// Parameters of Slice: elements start, start + step, ... of each axis, as many as the output has.
struct SliceAttributes {
  SymbolicShape starts;
  std::vector<int64_t> steps;
  static void fields(auto& a, auto&& field) {
    field("starts", a.starts);
    field("steps", a.steps);
  }
  bool operator==(const SliceAttributes&) const = default;
};

/// Parameters of Concat, Gather, GatherElements, OneHot and Interpolate.
struct AxisAttributes {
  int64_t axis = 0;
  static void fields(auto& a, auto&& field) { field("axis", a.axis); }
  bool operator==(const AxisAttributes&) const = default;
};

enum class PadMode : uint8_t { constant, reflect, edge, wrap };

/// Returns the name in the text, which is ONNX's.
std::string_view name_of(PadMode mode);
std::optional<PadMode> find_pad_mode(std::string_view name);

/// Number of elements added before each axis; the output's sizes say how many come after it.
struct PadAttributes {
  SymbolicShape begin;
  PadMode mode = PadMode::constant;
  static void fields(auto& a, auto&& field) {
    field("begin", a.begin);
    field("mode", a.mode);
  }
  bool operator==(const PadAttributes&) const = default;
};

/// Parameters of ResizePlaces and ResizeWeights, tables for one axis of a Resize whose sizes are open: where
/// each output element reads, and with which weights.
struct ResizeAttributes {
  Dim in = 1, out = 1;         // sizes of the axis
  std::optional<float> scale;  // the given one; nullopt: out / in
  std::string transform;       // ONNX's coordinate_transformation_mode
  std::string rounding;        // ONNX's nearest_mode; empty if an element is a weighted sum of several
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  static void fields(auto& a, auto&& field) {
    field("in", a.in);
    field("out", a.out);
    field("scale", a.scale, std::nullopt);
    field("transform", a.transform);
    field("rounding", a.rounding, "");
    field("cubic_a", a.cubic_a);
    field("exclude_outside", a.exclude_outside);
  }
  bool operator==(const ResizeAttributes&) const = default;
};

/// Elements of a small integer tensor that follow from sizes.
struct ElementsAttributes {
  SymbolicShape elements;
  static void fields(auto& a, auto&& field) { field("elements", a.elements); }
  bool operator==(const ElementsAttributes&) const = default;
};

/// Parameters of Range: start, start + step, ..., as many as the output has.
struct RangeAttributes {
  Dim start = 0;
  int64_t step = 1;
  static void fields(auto& a, auto&& field) {
    field("start", a.start);
    field("step", a.step);
  }
  bool operator==(const RangeAttributes&) const = default;
};

struct GatherNdAttributes {
  int64_t batch_dims = 0;
  static void fields(auto& a, auto&& field) { field("batch_dims", a.batch_dims); }
  bool operator==(const GatherNdAttributes&) const = default;
};

/// How an update changes the element that it finds.
enum class Update : uint8_t { none, add, mul, max, min };

/// Returns the name in the text, which is ONNX's.
std::string_view name_of(Update update);
std::optional<Update> find_update(std::string_view name);

/// Parameters of ScatterElements, whose updates lie along one axis, and ScatterND, which has no axis.
struct ScatterAttributes {
  int64_t axis = 0;
  Update update = Update::none;
  static void fields(auto& a, auto&& field) {
    field("axis", a.axis, 0);
    field("update", a.update);
  }
  bool operator==(const ScatterAttributes&) const = default;
};

/// Parameters of a Fold, which adds each element of windows [n, channels, taps..., windows...] to an image:
/// tap t of window w is at w * stride + t * dilation - pad, if that is inside.
struct FoldAttributes {
  std::vector<int64_t> strides, dilations, pads;  // one for each axis of the image
  static void fields(auto& a, auto&& field) {
    field("strides", a.strides);
    field("dilations", a.dilations);
    field("pads", a.pads);
  }
  bool operator==(const FoldAttributes&) const = default;
};

/// Parameters of TensorScatter: the inputs are a cache, updates and, for each item of the batch, the place of
/// its first update along the axis. Circular places begin again after the last one.
struct TensorScatterAttributes {
  int64_t axis = 0;
  bool circular = false;
  static void fields(auto& a, auto&& field) {
    field("axis", a.axis);
    field("circular", a.circular);
  }
  bool operator==(const TensorScatterAttributes&) const = default;
};

/// Parameters of GridSample, with ONNX's names: mode is "nearest", "linear" or "cubic", padding_mode "zeros",
/// "border" or "reflection".
struct GridSampleAttributes {
  std::string mode = "linear", padding_mode = "zeros";
  bool align_corners = false;
  static void fields(auto& a, auto&& field) {
    field("mode", a.mode);
    field("padding_mode", a.padding_mode);
    field("align_corners", a.align_corners);
  }
  bool operator==(const GridSampleAttributes&) const = default;
};

/// Parameters of DeformSample, for two axes: what the taps of a deformable convolution read. The inputs are
/// x [batch, channels, rows, columns], offsets [batch, offset groups, taps, 2, rows, columns] of the output
/// and, if any, factors [batch, offset groups, taps, rows, columns]; the output is [batch, rows, columns,
/// groups, taps, parts, channels of a part], where all channels of a part have the same offsets.
struct DeformAttributes {
  std::vector<int64_t> kernel, strides, dilations;
  SymbolicShape pads;  // as of a Conv
  static void fields(auto& a, auto&& field) {
    field("kernel", a.kernel);
    field("strides", a.strides);
    field("dilations", a.dilations);
    field("pads", a.pads);
  }
  bool operator==(const DeformAttributes&) const = default;
};

/// Parameters of RoiAlign; MaxRoiPool has only the scale of its regions.
struct RoiAttributes {
  int64_t sampling = 0;  // samples of a bin along an axis; 0: as many as it has elements
  float scale = 1;
  bool half_pixel = false;  // regions are moved by half an element
  bool maximum = false;
  static void fields(auto& a, auto&& field) {
    field("sampling", a.sampling, 0);
    field("scale", a.scale);
    field("half_pixel", a.half_pixel, false);
    field("maximum", a.maximum, false);
  }
  bool operator==(const RoiAttributes&) const = default;
};

/// Parameter of TreeEnsemble, whose inputs are rows and the constant table of routines/tree_table.h.
struct TreeAttributes {
  int64_t aggregate = 1;  // of the leaves of a target: 0 average, 1 sum, 2 minimum, 3 maximum
  static void fields(auto& a, auto&& field) { field("aggregate", a.aggregate); }
  bool operator==(const TreeAttributes&) const = default;
};

/// Returns the name in the text.
std::string_view name_of(BoxParts parts);
std::optional<BoxParts> find_box_parts(std::string_view name);

/// Parameters of operators whose output has a size that they count: it is a header and the elements
/// (abi/counted.h), which a run gives `sizes`, with the count as axis `counted`.
struct CountedAttributes {
  SymbolicShape sizes;  // 1 where the count is
  int64_t counted = 0;
  bool is_counted = true;  // whether it counts: groups of a Unique are as many as its elements
  int64_t wanted = 0;      // of a Unique: 0 values, 1 first places, 2 groups, 3 counts
  bool sorted = false;     // of a Unique
  bool nan_apart = false;  // of a Unique: a slice with NaN equals no other
  bool has_score = false, centered = false;  // of a NonMaxSuppression
  BoxParts parts = BoxParts::rows;           // of a NonMaxSuppression
  float sigma = 0;                           // of a NonMaxSuppression: above 0, overlaps lower scores
  bool as_rows = false;                      // of a NonZero: each place is a row, not a column
  static void fields(auto& a, auto&& field) {
    field("sizes", a.sizes);
    field("counted", a.counted);
    field("is_counted", a.is_counted, true);
    field("wanted", a.wanted, 0);
    field("sorted", a.sorted, false);
    field("nan_apart", a.nan_apart, false);
    field("has_score", a.has_score, false);
    field("centered", a.centered, false);
    field("parts", a.parts, BoxParts::rows);
    field("sigma", a.sigma, 0.0f);
    field("as_rows", a.as_rows, false);
  }
  bool operator==(const CountedAttributes&) const = default;
};

/// Parameters of Random, f64 numbers that are uniform in [0, 1) or normal, in row-major order.
struct RandomAttributes {
  int64_t seed = 0;  // at most 32 bits
  bool normal = false;
  static void fields(auto& a, auto&& field) {
    field("seed", a.seed);
    field("normal", a.normal);
  }
  bool operator==(const RandomAttributes&) const = default;
};

/// Parameters of TopK along the last axis.
struct TopKAttributes {
  bool largest = true;
  static void fields(auto& a, auto&& field) { field("largest", a.largest); }
  bool operator==(const TopKAttributes&) const = default;
};

struct TriluAttributes {
  int64_t k = 0;
  bool upper = true;
  static void fields(auto& a, auto&& field) {
    field("k", a.k);
    field("upper", a.upper);
  }
  bool operator==(const TriluAttributes&) const = default;
};

struct ReverseSequenceAttributes {
  int64_t batch_axis = 1, time_axis = 0;
  static void fields(auto& a, auto&& field) {
    field("batch_axis", a.batch_axis);
    field("time_axis", a.time_axis);
  }
  bool operator==(const ReverseSequenceAttributes&) const = default;
};

/// Parameters of Conv, one number per spatial axis; `pads` has first one before each axis, then one after
/// each.
struct ConvAttributes {
  int64_t group = 1;
  std::vector<int64_t> strides, dilations;
  SymbolicShape pads;
  std::vector<int64_t> input_dilations;  // distance of the input's elements, with zeros between them
  int64_t pad_value = 0;                 // integer that pads consist of
  // Taps along the last axis that are part of the depth: channel k * C + c of the weights is for channel c of
  // the input's C at tap k.
  int64_t unfolded = 1;
  static void fields(auto& a, auto&& field) {
    field("group", a.group);
    field("strides", a.strides);
    field("dilations", a.dilations);
    field("pads", a.pads);
    field("input_dilations", a.input_dilations);
    field("pad_value", a.pad_value, 0);
    field("unfolded", a.unfolded, 1);
  }
  bool operator==(const ConvAttributes&) const = default;
};

/// Parameters of MatMul. With blocks the second matrix has integers, and the numbers that they stand for are
/// scale * (integer - zero): inputs are (x, integers, scales, zeros), where scales and zeros, of u8, have a
/// row for each block along the depth and a column for each column; an axis of 1 is for all. Each u32 of the
/// second matrix has neighbors along the depth, the first in the lowest bits.
struct MatMulAttributes {
  int64_t block = 0;  // neighbors along the depth that have one scale; 0 without integers
  int64_t bits = 8;   // bits of an integer: 4 or 8
  static void fields(auto& a, auto&& field) {
    field("block", a.block, 0);
    field("bits", a.bits, 8);
  }
  bool operator==(const MatMulAttributes&) const = default;

  /// Returns the integers of a u32.
  int64_t in_word() const { return 32 / bits; }
  /// Returns the rows of the second matrix that have all of the blocks of a depth.
  int64_t rows_of(int64_t depth) const {
    return block == 0 ? depth : (depth + block - 1) / block * block / in_word();
  }
};

/// Parameters of MaxPool and AveragePool; `pads` as of a Conv.
struct PoolAttributes {
  std::vector<int64_t> kernel, strides, dilations;
  SymbolicShape pads;
  bool count_pads = false;    // an average counts what pads add
  std::optional<float> fill;  // value of the pads for a maximum; nullopt if pads do not count
  static void fields(auto& a, auto&& field) {
    field("kernel", a.kernel);
    field("strides", a.strides);
    field("dilations", a.dilations);
    field("pads", a.pads);
    field("count_pads", a.count_pads);
    field("fill", a.fill, std::nullopt);
  }
  bool operator==(const PoolAttributes&) const = default;
};

struct LrnAttributes {
  int64_t size = 1;  // number of channels
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
  static void fields(auto& a, auto&& field) {
    field("size", a.size);
    field("alpha", a.alpha);
    field("beta", a.beta);
    field("bias", a.bias);
  }
  bool operator==(const LrnAttributes&) const = default;
};

/// Parameters of reductions; the reduced axes stay, with size 1.
struct ReductionAttributes {
  std::vector<int64_t> axes;
  bool skip_nan = false;  // a maximum or minimum may skip NaN
  static void fields(auto& a, auto&& field) {
    field("axes", a.axes);
    field("skip_nan", a.skip_nan, false);
  }
  bool operator==(const ReductionAttributes&) const = default;
};

/// Parameters of ArgMax and ArgMin, along one axis.
struct ArgAttributes {
  std::vector<int64_t> axes;
  bool last = false;  // takes the last of equal elements
  static void fields(auto& a, auto&& field) {
    field("axes", a.axes);
    field("last", a.last);
  }
  bool operator==(const ArgAttributes&) const = default;
};

struct ScanAttributes {
  int64_t axis = 0;
  bool exclusive = false, reverse = false;
  static void fields(auto& a, auto&& field) {
    field("axis", a.axis);
    field("exclusive", a.exclusive);
    field("reverse", a.reverse);
  }
  bool operator==(const ScanAttributes&) const = default;
};

/// Parameters of LSTM, GRU and RNN.
struct RecurrenceAttributes {
  bool reverse = false;              // runs backward in time; never in a kernel, which is one step
  bool relu = false;                 // relu in an RNN, in place of tanh
  bool linear_before_reset = false;  // reset gate of a GRU acts after the product by R
  bool masked = false;  // the last input tells the steps and rows that have a step; others keep the state
  static void fields(auto& a, auto&& field) {
    field("reverse", a.reverse, false);
    field("relu", a.relu, false);
    field("linear_before_reset", a.linear_before_reset, false);
    field("masked", a.masked, false);
  }
  bool operator==(const RecurrenceAttributes&) const = default;
};

/// Parameters of integer Mod: with fmod the remainder has the sign of the dividend, not of the divisor.
struct ModAttributes {
  bool fmod = false;
  static void fields(auto& a, auto&& field) { field("fmod", a.fmod, false); }
  bool operator==(const ModAttributes&) const = default;
};

struct BitShiftAttributes {
  bool right = false;
  static void fields(auto& a, auto&& field) { field("right", a.right); }
  bool operator==(const BitShiftAttributes&) const = default;
};

struct IsInfAttributes {
  bool detect_positive = true, detect_negative = true;
  static void fields(auto& a, auto&& field) {
    field("detect_positive", a.detect_positive, true);
    field("detect_negative", a.detect_negative, true);
  }
  bool operator==(const IsInfAttributes&) const = default;
};

struct ExpAttributes {
  bool nonpositive = false;  // inputs are all nonpositive, and results that would be denormal are 0
  static void fields(auto& a, auto&& field) { field("nonpositive", a.nonpositive, false); }
  bool operator==(const ExpAttributes&) const = default;
};

struct GeluAttributes {
  bool tanh = false;  // approximated by tanh
  static void fields(auto& a, auto&& field) { field("tanh", a.tanh, false); }
  bool operator==(const GeluAttributes&) const = default;
};

/// Parameter of LeakyRelu, ThresholdedRelu, Elu and Celu.
struct AlphaAttributes {
  float alpha = 1;
  static void fields(auto& a, auto&& field) { field("alpha", a.alpha); }
  bool operator==(const AlphaAttributes&) const = default;
};

struct HardSigmoidAttributes {
  float alpha = 0.2f, beta = 0.5f;
  static void fields(auto& a, auto&& field) {
    field("alpha", a.alpha);
    field("beta", a.beta);
  }
  bool operator==(const HardSigmoidAttributes&) const = default;
};

struct SeluAttributes {
  float alpha = 1.67326319217681884765625f, gamma = 1.05070102214813232421875f;
  static void fields(auto& a, auto&& field) {
    field("alpha", a.alpha);
    field("gamma", a.gamma);
  }
  bool operator==(const SeluAttributes&) const = default;
};

struct ShrinkAttributes {
  float lambd = 0.5f, bias = 0;
  static void fields(auto& a, auto&& field) {
    field("lambd", a.lambd);
    field("bias", a.bias);
  }
  bool operator==(const ShrinkAttributes&) const = default;
};

using CoreAttributes =
    std::variant<NoAttributes, TransposeAttributes, SliceAttributes, AxisAttributes, PadAttributes,
                 ResizeAttributes, ElementsAttributes, RangeAttributes, GatherNdAttributes, ScatterAttributes,
                 FoldAttributes, TensorScatterAttributes, GridSampleAttributes, DeformAttributes,
                 RoiAttributes, TreeAttributes, CountedAttributes, RandomAttributes, TopKAttributes,
                 TriluAttributes, ReverseSequenceAttributes, ConvAttributes, MatMulAttributes, PoolAttributes,
                 LrnAttributes, ReductionAttributes, ArgAttributes, ScanAttributes, RecurrenceAttributes,
                 ModAttributes, BitShiftAttributes, IsInfAttributes, ExpAttributes, GeluAttributes,
                 AlphaAttributes, HardSigmoidAttributes, SeluAttributes, ShrinkAttributes>;

/// Returns the attributes of the operator with their default values.
CoreAttributes default_attributes(CoreOp op);

/// Reads the attributes of a node of a canonical graph, which has all of them and no others.
CoreAttributes read_attributes(const Node& node);

/// Returns the parameters of a node that counts its output's size; absent for others.
std::optional<CountedAttributes> counted_output(const Node& node);

/// Checks whether some output of a canonical graph has a size that a kernel counts.
bool has_counted_outputs(const Graph& graph);

/// Returns the attributes of a node, whose operator has the struct T.
template <typename T>
T attributes_of(const Node& node) {
  CoreAttributes attributes = read_attributes(node);
  INTARSIA_CHECK(std::holds_alternative<T>(attributes));
  return std::get<T>(std::move(attributes));
}

/// Returns the reduced axes of a node whose form is reduction.
std::vector<int64_t> reduced_axes(const Node& node);

/// Sets the attributes of a node; `attributes` is the struct of its operator.
void set_attributes(Node& node, const CoreAttributes& attributes);

/// Checks whether all sizes among the attributes are known: numbers or expressions.
bool are_known(const CoreAttributes& attributes);

/// Replaces the sizes among a node's attributes.
void replace_sizes(Node& node, const std::function<Dim(const Dim&)>& replace);

/// Makes a node; `attributes` is the struct of the operator, which may have none.
Node make_node(std::string name, CoreOp op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
               const CoreAttributes& attributes = {});

/// Checks that every node is a core operator with its attributes and one output, and every size known.
void check_canonical(const Graph& graph);

}  // namespace intarsia::halide
