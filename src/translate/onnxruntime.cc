// Operators that ONNX Runtime's quantizers and optimizers write, of the domain com.microsoft, as ONNX's
// operators between dequantization and quantization.
#include <algorithm>

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

/// Weights of a MatMulNBits: rows of the transposed matrix in blocks, each of which has its scale.
struct BlockedWeights {
  int64_t rows = 0, depth = 0, bits = 4, block = 32;
  int64_t blocks() const { return (depth + block - 1) / block; }
  int64_t bytes_of_row(int64_t numbers) const { return (numbers * bits + 7) / 8; }
};

/// Returns number `i` of those packed from the lowest bits on.
int unpacked(const uint8_t* bytes, int64_t i, int64_t bits) {
  if (bits == 8) return bytes[i];
  return bytes[i / 2] >> (i % 2 * 4) & 15;
}

/// Makes the weights [depth, rows] as f32.
Result<Tensor> unpack(Translation& t, const BlockedWeights& w) {
  const Tensor packed = TRY(t.constant(1)), scales = TRY(t.constant(2));
  const int64_t of_block = w.bytes_of_row(w.block), of_zeros = w.bytes_of_row(w.blocks());
  const bool has_zeros = t.has_input(3);
  const Tensor zeros = has_zeros ? TRY(t.constant(3)) : Tensor();
  if (packed.dtype() != DType::u8 || scales.dtype() != DType::f32 ||
      static_cast<int64_t>(packed.bytes()) != w.rows * w.blocks() * of_block ||
      element_count(scales.shape()) != w.rows * w.blocks())
    return fail("weights of {} bytes with {} scales", packed.bytes(), element_count(scales.shape()));
  if (has_zeros && (zeros.dtype() != DType::u8 || static_cast<int64_t>(zeros.bytes()) != w.rows * of_zeros))
    return fail("zero points of {}", print_type(t.type(3)));
  Tensor weights(DType::f32, {w.depth, w.rows});
  const auto* bytes = packed.as<uint8_t>().data();
  for (int64_t row = 0; row < w.rows; ++row)
    for (int64_t k = 0; k < w.depth; ++k) {
      const int64_t block = k / w.block, at = row * w.blocks() + block;
      const int zero = has_zeros ? unpacked(zeros.as<uint8_t>().data() + row * of_zeros, block, w.bits)
                                 : 1 << (w.bits - 1);
      const int number = unpacked(bytes + at * of_block, k % w.block, w.bits);
      weights.as<float>()[static_cast<size_t>(k * w.rows + row)] =
          static_cast<float>(number - zero) * scales.as<float>()[static_cast<size_t>(at)];
    }
  return weights;
}

Status product_by_few_bits(Translation& t) {
  const BlockedWeights w{t.attributes().get_int("N", 0), t.attributes().get_int("K", 0),
                         t.attributes().get_int("bits", 4), t.attributes().get_int("block_size", 32)};
  if (w.rows < 1 || w.depth < 1 || w.block < 16 || (w.bits != 4 && w.bits != 8) ||
      w.rows > max_made_elements / w.depth * 16)
    return fail("N={}, K={}, bits={}, block_size={}", w.rows, w.depth, w.bits, w.block);
  if (t.has_input(4)) return fail("its columns have another order");
  if (t.dtype(0) != DType::f32) return fail("it multiplies {}", dtype_name(t.dtype(0)));
  ValueId product = t.make("MatMul", {t.input(0), t.make_constant(TRY(unpack(t, w)))});
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
