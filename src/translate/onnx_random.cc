// Random operators of ONNX that are made of others.
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Translates Multinomial with a seed: the class of a sample is how many running sums of probabilities a
/// uniform number reaches.
Status multinomial(Translation& t) {
  if (!t.attributes().has("seed")) return fail("without a seed");
  if (!is_float(t.dtype(0))) return fail("of {}", dtype_name(t.dtype(0)));
  if (const int64_t rank = TRY(t.rank(0)); rank != 2) return fail("of rank {}", rank);
  const int64_t samples = t.attributes().get_int("sample_size", 1);
  if (samples < 1) return fail("of {} samples", samples);
  const ValueId x = t.cast(t.input(0), DType::f64), along = t.make_integers({1});
  const ValueId largest = t.make("ReduceMax", {x, along});
  const ValueId sums =
      t.make("CumSum", {t.make("Exp", {t.make("Sub", {x, largest})}), t.make_scalar(DType::i64, 1)});
  const ValueId total = t.make("Gather", {sums, t.make_integers({-1})}, {{"axis", int64_t{1}}});
  const ValueId uniform =
      t.make("RandomUniformLike", {t.make("Expand", {largest, t.make_integers({1, samples})})},
             {{"seed", t.attributes().get_float("seed", 0)}});
  const ValueId drawn = t.make("Mul", {uniform, total});
  const ValueId reached = t.make("GreaterOrEqual", {t.unsqueeze(drawn, {2}), t.unsqueeze(sums, {1})});
  const ValueId count =
      t.make("ReduceSum", {t.cast(reached, DType::i64), t.make_integers({2})}, {{"keepdims", int64_t{0}}});
  const ValueId last = t.make("Sub", {t.size_of(t.input(0), 1), t.make_integers({1})});
  const auto dtype = static_cast<DType>(t.attributes().get_int("dtype", static_cast<int64_t>(DType::i32)));
  if (dtype != DType::i32 && dtype != DType::i64) return fail("of dtype {}", static_cast<int64_t>(dtype));
  t.give(0, t.cast(t.make("Min", {count, last}), dtype));
  return {};
}

constexpr TranslationRow random_rows[] = {
    {"Multinomial", multinomial},
};

}  // namespace

std::span<const TranslationRow> random_decompositions() { return random_rows; }

}  // namespace intarsia
