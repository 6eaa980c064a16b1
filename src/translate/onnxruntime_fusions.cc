// Operators of the domain com.microsoft that ONNX Runtime's optimizers and exporters make of several of
// ONNX's: normalizations with additions, activations, products and convolutions with what follows.
#include <algorithm>

#include "translate/rules.h"

namespace intarsia {
namespace {

ValueId as_stored(Translation& t, ValueId value, DType dtype) {
  return computed_type(dtype) == dtype ? value : t.cast(value, dtype);
}

/// Normalizes the last axes from `axis` on by their root mean square (Zhang and Sennrich, "Root Mean Square
/// Layer Normalization", 2019). Also returns the factor of each row.
std::pair<ValueId, ValueId> normalize_rms(Translation& t, ValueId x, ValueId scale, int64_t axis,
                                          int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = axis; i < rank; ++i) axes.push_back(i);
  const float epsilon = t.attributes().get_float("epsilon", 1e-5f);
  const ValueId squares = t.make("ReduceMean", {t.make("Mul", {x, x}), t.make_integers(axes)});
  const ValueId root =
      t.make("Sqrt", {t.make("Add", {squares, t.make_scalar(computed_type(t.dtype(0)), epsilon)})});
  const ValueId factor = t.make("Reciprocal", {root});
  return {t.make("Mul", {t.make("Mul", {x, factor}), scale}), factor};
}

Status simplified_layer_normalization(Translation& t) {
  const int64_t rank = TRY(t.rank(0)), axis = TRY(normal_axis(t.attributes().get_int("axis", -1), rank));
  const auto [y, factor] = normalize_rms(t, t.computed(0), t.computed(1), axis, rank);
  t.give(0, as_stored(t, y, t.dtype(1)));
  t.give(1, factor);
  return {};
}

/// Gives the normalized sum of a value, what skips it, and a bias.
Status skip_normalization(Translation& t, bool is_simplified) {
  if (t.wants_output(1) || t.wants_output(2)) return fail("with mean or deviation as outputs");
  const int64_t rank = TRY(t.rank(0));
  if (rank < 1) return fail("of a scalar");
  const size_t bias = is_simplified ? 3 : 4;
  ValueId sum = t.make("Add", {t.computed(0), t.computed(1)});
  if (t.has_input(bias)) sum = t.make("Add", {sum, t.computed(bias)});
  t.give(3, as_stored(t, sum, t.dtype(0)));
  if (is_simplified) {
    t.give(0, as_stored(t, normalize_rms(t, sum, t.computed(2), rank - 1, rank).first, t.dtype(0)));
    return {};
  }
  std::vector<ValueId> inputs{sum, t.computed(2)};
  if (t.has_input(3)) inputs.push_back(t.computed(3));
  const float epsilon = t.attributes().get_float("epsilon", 1e-5f);
  t.give(0,
         as_stored(t, t.make("LayerNormalization", std::move(inputs), {{"epsilon", epsilon}}), t.dtype(0)));
  return {};
}

Status skip_layer_normalization(Translation& t) { return skip_normalization(t, false); }
Status skip_simplified_layer_normalization(Translation& t) { return skip_normalization(t, true); }

/// Translates the sum of the embeddings of words, positions and segments, normalized; and the length of each
/// row of the mask.
Status embed_layer_normalization(Translation& t) {
  if (TRY(t.rank(0)) != 2) return fail("of ids of rank {}", TRY(t.rank(0)));
  const auto rows = [&](size_t table, ValueId places) {
    return t.make("Gather", {t.computed(table), places}, {{"axis", int64_t{0}}});
  };
  const ValueId ids = t.input(0);
  ValueId sum =
      t.make("Add", {rows(2, ids), rows(3, t.has_input(8) ? t.input(8) : t.count_up(t.size_of(ids, 1)))});
  if (t.has_input(1) != t.has_input(4))
    return fail("segment ids without their embedding, or the other way around");
  if (t.has_input(1)) sum = t.make("Add", {sum, rows(4, t.input(1))});
  const float epsilon = t.attributes().get_float("epsilon", 1e-12f);
  const ValueId y = t.make("LayerNormalization", {sum, t.computed(5), t.computed(6)}, {{"epsilon", epsilon}});
  t.give(0, as_stored(t, y, t.dtype(2)));
  t.give(2, as_stored(t, sum, t.dtype(2)));
  if (!t.wants_output(1)) return {};
  if (t.attributes().get_int("mask_index_type", 1) != 1) return fail("with another kind of mask index");
  const ValueId mask = t.has_input(7) ? t.input(7) : t.make("Mul", {ids, t.make_scalar(t.dtype(0), 0)});
  t.give(1, t.make("ReduceSum", {mask, t.make_integers({1})}, {{"keepdims", int64_t{0}}}));
  return {};
}

/// Gives the Gelu of the sum of input 0 and, if it exists, input 1.
Status biased_gelu(Translation& t, const char* approximation) {
  ValueId x = t.computed(0);
  if (t.has_input(1)) x = t.make("Add", {x, t.computed(1)});
  t.give(0, as_stored(t, t.make("Gelu", {x}, {{"approximate", std::string(approximation)}}), t.dtype(0)));
  return {};
}

Status bias_gelu(Translation& t) { return biased_gelu(t, "none"); }
Status fast_gelu(Translation& t) { return biased_gelu(t, "tanh"); }

/// Swaps the last two axes of a matrix, if the attribute says so; a vector stays.
Result<ValueId> turned(Translation& t, size_t i, const char* attribute) {
  const int64_t rank = TRY(t.rank(i));
  if (rank < 2 || t.attributes().get_int(attribute, 0) == 0) return t.computed(i);
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (size_t axis = 0; axis < order.size(); ++axis) order[axis] = static_cast<int64_t>(axis);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return t.transpose(t.computed(i), order);
}

Status fused_matmul(Translation& t) {
  for (const char* name : {"transBatchA", "transBatchB"})
    if (t.attributes().get_int(name, 0) != 0) return fail("with {}", name);
  ValueId y = t.make("MatMul", {TRY(turned(t, 0, "transA")), TRY(turned(t, 1, "transB"))});
  const float alpha = t.attributes().get_float("alpha", 1);
  if (alpha != 1) y = t.make("Mul", {y, t.make_scalar(computed_type(t.dtype(0)), alpha)});
  t.give(0, as_stored(t, y, t.dtype(0)));
  return {};
}

/// Applies the activation that the attributes name, with parameters in the order of the activation's
/// attributes.
Result<ValueId> activated(Translation& t, ValueId x, const std::vector<float>& parameters) {
  const std::string name = t.attributes().get_string("activation", "");
  const auto parameter = [&](size_t i, float otherwise) {
    return i < parameters.size() ? parameters[i] : otherwise;
  };
  if (name.empty()) return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "Softplus" || name == "HardSwish")
    return t.make(name, {x});
  if (name == "LeakyRelu") return t.make(name, {x}, {{"alpha", parameter(0, 0.01f)}});
  if (name == "HardSigmoid")
    return t.make(name, {x}, {{"alpha", parameter(0, 0.2f)}, {"beta", parameter(1, 0.5f)}});
  if (name == "Clip" && parameters.size() == 2) {
    const DType dtype = computed_type(t.dtype(0));
    return t.make(name, {x, t.make_scalar(dtype, parameters[0]), t.make_scalar(dtype, parameters[1])});
  }
  return fail("with the activation {}", name);
}

Status fused_conv(Translation& t) {
  std::vector<ValueId> inputs{t.computed(0), t.computed(1)};
  if (t.has_input(2)) inputs.push_back(t.computed(2));
  Translation::NamedAttributes kept;
  for (const char* name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
    if (const AttributeValue* value = t.attributes().find(name)) kept.emplace_back(name, *value);
  ValueId y = t.make("Conv", std::move(inputs), std::move(kept));
  if (t.has_input(3)) y = t.make("Add", {y, t.computed(3)});
  t.give(0, as_stored(t, TRY(activated(t, y, t.attributes().get_floats("activation_params"))), t.dtype(0)));
  return {};
}

Status fused_gemm(Translation& t) {
  std::vector<ValueId> inputs{t.computed(0), t.computed(1)};
  if (t.has_input(2)) inputs.push_back(t.computed(2));
  Translation::NamedAttributes kept;
  for (const char* name : {"alpha", "beta", "transA", "transB"})
    if (const AttributeValue* value = t.attributes().find(name)) kept.emplace_back(name, *value);
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (t.attributes().has(name)) parameters.push_back(t.attributes().get_float(name, 0));
  const ValueId y = TRY(activated(t, t.make("Gemm", std::move(inputs), std::move(kept)), parameters));
  t.give(0, as_stored(t, y, t.dtype(0)));
  return {};
}

Status gather_nd(Translation& t) {
  t.give(0, t.make("GatherND", {t.input(0), t.cast(t.input(1), DType::i64)}));
  return {};
}

Status trilu(Translation& t) {
  t.give(0, t.make("Trilu", t.inputs(), {{"upper", t.attributes().get_int("upper", 1)}}));
  return {};
}

constexpr TranslationRow fusion_rows[] = {
    {"BiasGelu", bias_gelu},
    {"EmbedLayerNormalization", embed_layer_normalization},
    {"FastGelu", fast_gelu},
    {"FusedConv", fused_conv},
    {"FusedGemm", fused_gemm},
    {"FusedMatMul", fused_matmul},
    {"GatherND", gather_nd},
    {"SkipLayerNormalization", skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", skip_simplified_layer_normalization},
    {"TransposeMatMul", fused_matmul},
    {"Trilu", trilu},
};

constexpr TranslationRow unlisted_rows[] = {
    {"SimplifiedLayerNormalization", simplified_layer_normalization},
};

}  // namespace

std::span<const TranslationRow> onnxruntime_fusion_translations() { return fusion_rows; }
std::span<const TranslationRow> unlisted_translations() { return unlisted_rows; }

}  // namespace intarsia
