#include <algorithm>
#include <numeric>

#include "tensorflow/dtypes.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Translates a gather. In TensorFlow, indices outside of the axis give zeros on a GPU and an error on a CPU;
/// sane models have none.
Status gather(Translation& t) {
  const int64_t rank = TRY(t.rank(0));
  const int64_t axis = t.input_count() > 2 ? TRY(normal_axis(TRY(t.integer(2)), rank)) : 0;
  if (t.attributes().get_int("batch_dims", 0) != 0) return fail("with batch dimensions");
  t.give(0, t.make("Gather", {t.input(0), t.input(1)}, {{"axis", axis}}));
  return {};
}

Status gather_nd(Translation& t) {
  t.give(0, t.make("GatherND", {t.input(0), t.cast(t.input(1), DType::i64)}));
  return {};
}

/// Adds updates to zeros; updates of equal indices add up.
Status scatter_nd(Translation& t) {
  const std::vector<int64_t> shape = TRY(t.integers(2));
  const ValueId zeros = t.make("Expand", {t.make_scalar(t.dtype(1), 0), t.make_integers(shape)});
  t.give(0, t.make("ScatterND", {zeros, t.cast(t.input(0), DType::i64), t.input(1)},
                   {{"reduction", std::string("add")}}));
  return {};
}

Status scatter_into(Translation& t, const char* reduction) {
  t.give(0, t.make("ScatterND", {t.input(0), t.cast(t.input(1), DType::i64), t.input(2)},
                   {{"reduction", std::string(reduction)}}));
  return {};
}

Status scatter_update(Translation& t) { return scatter_into(t, "none"); }
Status scatter_add(Translation& t) { return scatter_into(t, "add"); }

/// Translates OneHot with the inputs indices, depth, on value, off value. An index outside of the depth gives
/// a row of off values; ours counts negative indices from the end, so they are moved out of range first.
Status one_hot(Translation& t) {
  const int64_t depth = TRY(t.integer(1));
  const ValueId indices = t.cast(t.input(0), DType::i64), zero = t.make_scalar(DType::i64, 0);
  const ValueId outside = t.make_scalar(DType::i64, static_cast<double>(depth));
  const ValueId legal = t.make("Where", {t.make("Less", {indices, zero}), outside, indices});
  const auto as_row = [&](size_t i) { return t.reshape(t.input(i), {1}); };
  const ValueId values = t.make("Concat", {as_row(3), as_row(2)}, {{"axis", int64_t{0}}});
  t.give(0, t.make("OneHot", {legal, t.make_integers({depth}), values},
                   {{"axis", t.attributes().get_int("axis", -1)}}));
  return {};
}

Status top_k(Translation& t, int64_t k) {
  const std::vector<ValueId> made =
      t.make_several("TopK", {t.input(0), t.make_integers({k})}, 2,
                     {{"axis", int64_t{-1}}, {"largest", int64_t{1}}, {"sorted", int64_t{1}}});
  t.give(0, made[0]);
  t.give(1, t.cast(made[1], tensorflow::get_dtype(t.attributes(), "index_type", DType::i32)));
  return {};
}

Status top_k_v1(Translation& t) { return top_k(t, t.attributes().get_int("k", 1)); }
Status top_k_v2(Translation& t) { return top_k(t, TRY(t.integer(1))); }

/// Keeps the elements from `lower` diagonals below the main one to `upper` above it; all, where one is
/// negative.
Status matrix_band_part(Translation& t) {
  const int64_t lower = TRY(t.integer(1)), upper = TRY(t.integer(2));
  ValueId kept = t.input(0);
  const auto cut = [&](int64_t diagonal, int64_t is_upper) {
    kept = t.make("Trilu", {kept, t.make_integers({diagonal})}, {{"upper", is_upper}});
  };
  if (lower >= 0) cut(-lower, 1);
  if (upper >= 0) cut(upper, 0);
  t.give(0, lower >= 0 || upper >= 0 ? kept : t.make("Identity", {kept}));
  return {};
}

/// Returns the positions of nonzero elements, as rows. TensorFlow refuses scalars.
Status where(Translation& t) {
  if (t.type(0).shape && t.type(0).shape->empty()) return fail("of a scalar");
  t.give(0, t.make_own("NonZeroRows", {t.input(0)}, 1)[0]);
  return {};
}

/// Returns distinct slices, the group of each and the groups' counts. TensorFlow takes each NaN for one of
/// its own; whether both zeros of 16 bits are one depends on its hash table.
Status unique(Translation& t, Translation::NamedAttributes attributes) {
  if (computed_type(t.dtype(0)) != t.dtype(0)) return fail("of {}", dtype_name(t.dtype(0)));
  const DType type = tensorflow::get_dtype(t.attributes(), "out_idx", DType::i32);
  attributes.emplace_back("index_type", static_cast<int64_t>(type));
  const std::vector<ValueId> made = t.make_own("UniqueInOrder", {t.input(0)}, 3, std::move(attributes));
  for (size_t i = 0; i < made.size() && i < t.node().outputs.size(); ++i) t.give(i, made[i]);
  return {};
}

Status unique_v1(Translation& t) {
  if (const int64_t rank = TRY(t.rank(0)); rank != 1) return fail("of rank {}", rank);
  return unique(t, {});
}

Status unique_v2(Translation& t) {
  const std::vector<int64_t> axes = TRY(t.integers(1));
  if (axes.empty()) return unique_v1(t);
  if (axes.size() != 1) return fail("along {} axes", axes.size());
  return unique(t, {{"axis", TRY(normal_axis(axes[0], TRY(t.rank(0))))}});
}

Status invert_permutation(Translation& t) {
  const Shape shape = TRY(t.shape(0));
  if (shape.size() != 1) return fail("of rank {}", shape.size());
  if (shape[0] > max_made_elements) return fail("of {} elements", shape[0]);
  std::vector<int64_t> count(static_cast<size_t>(shape[0]));
  std::iota(count.begin(), count.end(), 0);
  const ValueId indices = t.cast(t.input(0), DType::i64), positions = t.make_integers(count);
  const ValueId inverse = t.make("ScatterElements", {positions, indices, positions}, {{"axis", int64_t{0}}});
  t.give(0, t.dtype(0) == DType::i64 ? inverse : t.cast(inverse, t.dtype(0)));
  return {};
}

constexpr TranslationRow indexing_rows[] = {
    {"Gather", gather},
    {"GatherV2", gather},
    {"GatherNd", gather_nd},
    {"ScatterNd", scatter_nd},
    {"TensorScatterUpdate", scatter_update},
    {"TensorScatterAdd", scatter_add},
    {"OneHot", one_hot},
    {"TopK", top_k_v1},
    {"TopKV2", top_k_v2},
    {"MatrixBandPart", matrix_band_part},
    {"Where", where},
    {"Unique", unique_v1},
    {"UniqueV2", unique_v2},
    {"UniqueWithCounts", unique_v1},
    {"UniqueWithCountsV2", unique_v2},
    {"InvertPermutation", invert_permutation},
};

}  // namespace

std::span<const TranslationRow> indexing_translations() { return indexing_rows; }

}  // namespace intarsia
