#include "translate/layout.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Translates inference, which uses the given mean and variance; outputs 1 and 2 repeat them.
Status batch_normalization(Translation& t) {
  if (tensorflow::get_bool(t.attributes(), "is_training", true))
    return fail("in training: it computes mean and variance");
  const int64_t rank = TRY(t.rank(0));
  const Layout layout = TRY(read_layout(t, rank - 2));
  const ValueId x = to_channels_first(t, t.input(0), layout);
  const ValueId y = t.make("BatchNormalization", {x, t.input(1), t.input(2), t.input(3), t.input(4)},
                           {{"epsilon", t.attributes().get_float("epsilon", 0.0001f)}});
  t.give(0, from_channels_first(t, y, layout));
  t.give(1, t.input(3));
  t.give(2, t.input(4));
  return {};
}

Status softmax(Translation& t) {
  t.give(0, t.make("Softmax", {t.input(0)}, {{"axis", int64_t{-1}}}));
  return {};
}

Status log_softmax(Translation& t) {
  t.give(0, t.make("LogSoftmax", {t.input(0)}, {{"axis", int64_t{-1}}}));
  return {};
}

/// Translates LRN over the channels, which are last; alpha is per element in TensorFlow, for the whole window
/// in ours.
Status lrn(Translation& t) {
  if (TRY(t.rank(0)) != 4) return fail("of rank {}", TRY(t.rank(0)));
  const Layout layout{2, true};
  const int64_t size = 2 * t.attributes().get_int("depth_radius", 5) + 1;
  const float alpha = t.attributes().get_float("alpha", 1) * static_cast<float>(size);
  const ValueId y = t.make("LRN", {to_channels_first(t, t.input(0), layout)},
                           {{"size", size},
                            {"alpha", alpha},
                            {"beta", t.attributes().get_float("beta", 0.5f)},
                            {"bias", t.attributes().get_float("bias", 1)}});
  t.give(0, from_channels_first(t, y, layout));
  return {};
}

constexpr TranslationRow normalization_rows[] = {
    {"FusedBatchNorm", batch_normalization},
    {"FusedBatchNormV2", batch_normalization},
    {"FusedBatchNormV3", batch_normalization},
    {"Softmax", softmax},
    {"LogSoftmax", log_softmax},
    {"LRN", lrn},
};

}  // namespace

std::span<const TranslationRow> normalization_translations() { return normalization_rows; }

}  // namespace intarsia
