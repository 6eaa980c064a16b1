// Operators that ONNX Runtime's quantizers and optimizers write, of the domain com.microsoft, as ONNX's
// operators between dequantization and quantization.
#include <algorithm>
#include <cstring>

#include "translate/rules.h"

namespace intarsia {
namespace {

/// Returns the numbers that input `i` stands for, given by its scale and zero point, the inputs after it.
ValueId dequantized(Translation& t, size_t i, size_t scale, Translation::NamedAttributes attributes = {}) {
  std::vector<ValueId> inputs{t.input(i), t.input(scale)};
  if (t.has_input(scale + 1)) inputs.push_back(t.input(scale + 1));
  return t.make("DequantizeLinear", std::move(inputs), std::move(attributes));
}

/// Gives the numbers quantized by the scale and zero point that are inputs `scale` and the next.
void give_quantized(Translation& t, ValueId numbers, size_t scale) {
  std::vector<ValueId> inputs{numbers, t.input(scale)};
  if (t.has_input(scale + 1)) inputs.push_back(t.input(scale + 1));
  t.give(0, t.make("QuantizeLinear", std::move(inputs)));
}

template <const char* op>
Status quantized_binary(Translation& t) {
  give_quantized(t, t.make(op, {dequantized(t, 0, 1), dequantized(t, 3, 4)}), 6);
  return {};
}

Status quantized_sigmoid(Translation& t) {
  give_quantized(t, t.make("Sigmoid", {dequantized(t, 0, 1)}), 3);
  return {};
}

Status quantized_leaky_relu(Translation& t) {
  const float alpha = t.attributes().get_float("alpha", 0.01f);
  give_quantized(t, t.make("LeakyRelu", {dequantized(t, 0, 1)}, {{"alpha", alpha}}), 3);
  return {};
}

Status quantized_softmax(Translation& t) {
  const int64_t rank = TRY(t.rank(0)), axis = TRY(normal_axis(t.attributes().get_int("axis", -1), rank));
  if (t.attributes().get_int("opset", 13) < 13 && axis != rank - 1)
    return fail("it joins the axes from {}", axis);
  give_quantized(t, t.make("Softmax", {dequantized(t, 0, 1)}, {{"axis", axis}}), 3);
  return {};
}

Status quantized_global_average_pool(Translation& t) {
  if (t.attributes().get_int("channels_last", 0) != 0) return fail("its channels are last");
  give_quantized(t, t.make("GlobalAveragePool", {dequantized(t, 0, 1)}), 3);
  return {};
}

Status quantized_average_pool(Translation& t) {
  if (t.attributes().get_int("channels_last", 0) != 0) return fail("its channels are last");
  Translation::NamedAttributes kept;
  for (const char* name : {"kernel_shape", "strides", "pads", "auto_pad", "ceil_mode", "count_include_pad"})
    if (const AttributeValue* value = t.attributes().find(name)) kept.emplace_back(name, *value);
  give_quantized(t, t.make("AveragePool", {dequantized(t, 0, 1)}, std::move(kept)), 3);
  return {};
}

/// Translates a Concat whose inputs are the scale and zero point of the result, then three for each part.
Status quantized_concat(Translation& t) {
  if (t.input_count() < 5 || t.input_count() % 3 != 2) return fail("{} inputs", t.input_count());
  std::vector<ValueId> parts;
  for (size_t i = 2; i < t.input_count(); i += 3) parts.push_back(dequantized(t, i, i + 1));
  give_quantized(t, t.make("Concat", std::move(parts), {{"axis", t.attributes().get_int("axis", 0)}}), 0);
  return {};
}

/// Translates a Gemm; its bias is of i32, with the scale of a step of products.
Status quantized_gemm(Translation& t) {
  const bool swaps = t.attributes().get_int("transB", 0) != 0;
  std::vector<ValueId> inputs{dequantized(t, 0, 1), dequantized(t, 3, 4, {{"axis", int64_t{swaps ? 0 : 1}}})};
  if (t.has_input(6)) {
    const ValueId scale = t.make("Mul", {t.input(1), t.input(4)});
    inputs.push_back(t.make("Mul", {t.make("Cast", {t.input(6)}, {{"to", int64_t{1}}}), scale}));
  }
  const ValueId product = t.make("Gemm", std::move(inputs),
                                 {{"alpha", t.attributes().get_float("alpha", 1)},
                                  {"transA", t.attributes().get_int("transA", 0)},
                                  {"transB", int64_t{swaps}}});
  if (t.has_input(7))
    give_quantized(t, product, 7);
  else
    t.give(0, product);
  return {};
}

/// Gives integers' sums as numbers, with a bias if input `bias` exists.
void give_scaled(Translation& t, ValueId sums, ValueId scale, size_t bias) {
  ValueId numbers = t.make("Mul", {t.make("Cast", {sums}, {{"to", int64_t{1}}}), scale});
  if (t.has_input(bias)) numbers = t.make("Add", {numbers, t.input(bias)});
  t.give(0, numbers);
}

Status product_of_integers(Translation& t) {
  std::vector<ValueId> inputs{t.input(0), t.input(1)};
  const ValueId none = no_value;
  if (t.has_input(4) || t.has_input(5)) inputs.push_back(t.has_input(4) ? t.input(4) : none);
  if (t.has_input(5)) inputs.push_back(t.input(5));
  give_scaled(t, t.make("MatMulInteger", std::move(inputs)), t.make("Mul", {t.input(2), t.input(3)}), 6);
  return {};
}

Status product_with_dynamic_quantization(Translation& t) {
  const std::vector<ValueId> quantized = t.make_several("DynamicQuantizeLinear", {t.input(0)}, 3);
  std::vector<ValueId> inputs{quantized[0], t.input(1), quantized[2]};
  if (t.has_input(3)) inputs.push_back(t.input(3));
  give_scaled(t, t.make("MatMulInteger", std::move(inputs)), t.make("Mul", {quantized[1], t.input(2)}), 4);
  return {};
}

/// Weights of a MatMulNBits: rows of the transposed matrix in blocks, each of which has its scale. Rows begin
/// at a whole byte and, but for zero points, have whole blocks.
struct BlockedWeights {
  int64_t rows = 0, depth = 0, bits = 4, block = 32;
  int64_t blocks() const { return (depth + block - 1) / block; }
  int64_t bytes_of_row(int64_t numbers) const { return (numbers * bits + 7) / 8; }
  DType dtype() const { return bits == 4 ? DType::u4 : DType::u8; }
};

/// Returns rows of `size` integers, one after the other without gaps, of rows that take `row_bytes` bytes:
/// the same memory if they have none.
Tensor without_gaps(const Tensor& bytes, const BlockedWeights& w, int64_t size, int64_t row_bytes) {
  if (size * w.bits == row_bytes * 8)
    return Tensor(TensorView{bytes.data(), w.dtype(), {w.rows, size}}, bytes.owner());
  Tensor made(w.dtype(), {w.rows, size});
  const std::span<uint8_t> from = bytes.as<uint8_t>();
  auto* to = static_cast<uint8_t*>(made.data());
  for (int64_t row = 0; row < w.rows; ++row)
    for (int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<size_t>(row * row_bytes * 8 / w.bits + i);
      const auto number = static_cast<size_t>(row * size + i);
      if (w.bits == 8)
        to[number] = from[at];
      else
        to[number / 2] |= static_cast<uint8_t>((from[at / 2] >> (at % 2 * 4) & 15) << (number % 2 * 4));
    }
  return made;
}

/// Adds the weights [rows, depth] as numbers that integers stand for.
Result<ValueId> dequantized(Translation& t, const BlockedWeights& w) {
  const Tensor packed = TRY(t.constant(1)), scales = TRY(t.constant(2));
  const int64_t row_bytes = w.blocks() * w.bytes_of_row(w.block), of_zeros = w.bytes_of_row(w.blocks());
  const bool has_zeros = t.has_input(3);
  const Tensor zeros = has_zeros ? TRY(t.constant(3)) : Tensor();
  if (packed.dtype() != DType::u8 || scales.dtype() != t.dtype(0) ||
      static_cast<int64_t>(packed.bytes()) != w.rows * row_bytes ||
      element_count(scales.shape()) != w.rows * w.blocks())
    return fail("weights of {} bytes with {} scales of {}", packed.bytes(), element_count(scales.shape()),
                dtype_name(scales.dtype()));
  if (has_zeros && (zeros.dtype() != DType::u8 || static_cast<int64_t>(zeros.bytes()) != w.rows * of_zeros))
    return fail("zero points of {}", print_type(t.type(3)));
  Tensor zero_points(w.dtype(), {w.rows, w.blocks()});
  std::memset(zero_points.data(), w.bits == 4 ? 0x88 : 0x80, zero_points.bytes());
  if (has_zeros) zero_points = without_gaps(zeros, w, w.blocks(), of_zeros);
  const Tensor by_block(TensorView{scales.data(), scales.dtype(), {w.rows, w.blocks()}}, scales.owner());
  return t.make("DequantizeLinear",
                {t.make_constant(without_gaps(packed, w, w.depth, row_bytes)), t.make_constant(by_block),
                 t.make_constant(std::move(zero_points))},
                {{"axis", int64_t{1}}, {"block_size", w.block}});
}

Status product_by_few_bits(Translation& t) {
  const BlockedWeights w{t.attributes().get_int("N", 0), t.attributes().get_int("K", 0),
                         t.attributes().get_int("bits", 4), t.attributes().get_int("block_size", 32)};
  if (w.rows < 1 || w.depth < 1 || w.block < 16 || w.block % 2 != 0 || (w.bits != 4 && w.bits != 8) ||
      w.block > max_made_elements || w.rows > max_made_elements / w.depth * 64)
    return fail("N={}, K={}, bits={}, block_size={}", w.rows, w.depth, w.bits, w.block);
  if (t.has_input(4)) return fail("its columns have another order");
  const DType dtype = t.dtype(0);
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
    return fail("it multiplies {}", dtype_name(dtype));
  ValueId product = t.make("MatMul", {t.input(0), t.transpose(TRY(dequantized(t, w)), {1, 0})});
  if (t.has_input(5)) product = t.make("Add", {product, t.input(5)});
  t.give(0, product);
  return {};
}

constexpr char quantized_add[] = "Add", quantized_mul[] = "Mul";

constexpr TranslationRow onnxruntime_rows[] = {
    {"DynamicQuantizeMatMul", product_with_dynamic_quantization},
    {"MatMulIntegerToFloat", product_of_integers},
    {"MatMulNBits", product_by_few_bits},
    {"QGemm", quantized_gemm},
    {"QLinearAdd", quantized_binary<quantized_add>},
    {"QLinearAveragePool", quantized_average_pool},
    {"QLinearConcat", quantized_concat},
    {"QLinearGlobalAveragePool", quantized_global_average_pool},
    {"QLinearLeakyRelu", quantized_leaky_relu},
    {"QLinearMul", quantized_binary<quantized_mul>},
    {"QLinearSigmoid", quantized_sigmoid},
    {"QLinearSoftmax", quantized_softmax},
};

}  // namespace

std::span<const TranslationRow> onnxruntime_translations() { return onnxruntime_rows; }

}  // namespace intarsia
