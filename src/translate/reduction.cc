#include <algorithm>

#include "tensorflow/dtypes.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Translates a reduction over the axes in input 1; without axes nothing is reduced.
Status reduce(Translation& t, const char* op, ValueId x) {
  std::vector<int64_t> axes = TRY(t.integers(1));
  const int64_t rank = TRY(t.rank(0));
  for (int64_t& axis : axes) axis = TRY(normal_axis(axis, rank));
  std::ranges::sort(axes);
  const int64_t keep = tensorflow::get_bool(t.attributes(), "keep_dims", false);
  t.give(0,
         t.make(op, {x, t.make_integers(axes)}, {{"keepdims", keep}, {"noop_with_empty_axes", int64_t{1}}}));
  return {};
}

Status sum(Translation& t) { return reduce(t, "ReduceSum", t.input(0)); }
Status mean(Translation& t) { return reduce(t, "ReduceMean", t.input(0)); }
Status max(Translation& t) { return reduce(t, "ReduceMax", t.input(0)); }
Status min(Translation& t) { return reduce(t, "ReduceMin", t.input(0)); }
Status prod(Translation& t) { return reduce(t, "ReduceProd", t.input(0)); }
Status euclidean_norm(Translation& t) {
  if (!is_float(t.dtype(0))) return fail("of {}", dtype_name(t.dtype(0)));
  return reduce(t, "ReduceL2", t.input(0));
}

Status any(Translation& t) { return reduce(t, "ReduceMax", t.input(0)); }
Status all(Translation& t) { return reduce(t, "ReduceMin", t.input(0)); }

Status l2_loss(Translation& t) {
  const ValueId squares = t.make("ReduceSumSquare", {t.input(0)}, {{"keepdims", int64_t{0}}});
  t.give(0, t.make("Mul", {squares, t.make_scalar(t.dtype(0), 0.5)}));
  return {};
}

Status find_extreme(Translation& t, const char* op) {
  const int64_t axis = TRY(normal_axis(TRY(t.integer(1)), TRY(t.rank(0))));
  const ValueId index = t.make(op, {t.input(0)}, {{"axis", axis}, {"keepdims", int64_t{0}}});
  const DType type = tensorflow::get_dtype(t.attributes(), "output_type", DType::i64);
  t.give(0, type == DType::i64 ? index : t.cast(index, type));
  return {};
}

Status arg_max(Translation& t) { return find_extreme(t, "ArgMax"); }
Status arg_min(Translation& t) { return find_extreme(t, "ArgMin"); }

Status scan(Translation& t, const char* op) {
  const int64_t axis = TRY(normal_axis(TRY(t.integer(1)), TRY(t.rank(0))));
  const int64_t exclusive = tensorflow::get_bool(t.attributes(), "exclusive", false),
                reverse = tensorflow::get_bool(t.attributes(), "reverse", false);
  Tensor scalar(DType::i64, {});
  scalar.as<int64_t>()[0] = axis;
  t.give(0, t.make(op, {t.input(0), t.make_constant(std::move(scalar))},
                   {{"exclusive", exclusive}, {"reverse", reverse}}));
  return {};
}

Status cumsum(Translation& t) { return scan(t, "CumSum"); }
Status cumprod(Translation& t) { return scan(t, "CumProd"); }

constexpr TranslationRow reduction_rows[] = {
    {"Sum", sum},
    {"Mean", mean},
    {"Max", max},
    {"Min", min},
    {"Prod", prod},
    {"Any", any},
    {"All", all},
    {"L2Loss", l2_loss},
    {"ArgMax", arg_max},
    {"ArgMin", arg_min},
    {"Cumsum", cumsum},
    {"Cumprod", cumprod},
    {"EuclideanNorm", euclidean_norm},
};

}  // namespace

std::span<const TranslationRow> reduction_translations() { return reduction_rows; }

}  // namespace intarsia
