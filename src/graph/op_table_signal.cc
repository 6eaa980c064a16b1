#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

Dim half_spectrum(const Dim& length) { return floor_div(length, 2) + 1; }

Dim number_or_unknown(std::optional<int64_t> value) {
  return value && *value >= 0 ? Dim(*value) : Dim::unknown();
}

Status infer_dft(ShapeContext& context) {
  TRY(require_rank(context, 0, 2));
  const SymbolicShape* x = context.shape(0);
  context.set_output(0, context.dtype(0));
  if (x == nullptr) return {};
  SymbolicShape result = *x;
  const bool inverse = context.attributes().get_int("inverse", 0) != 0;
  const bool onesided = context.attributes().get_int("onesided", 0) != 0;
  result.back() = Dim(inverse && onesided ? 1 : 2);
  std::optional<int64_t> axis = context.version() < 20 ? context.attributes().get_int("axis", 1) : -2;
  if (context.has_input(2)) axis = known_int(context, 2);
  if (!axis) {
    for (size_t i = 0; i + 1 < result.size(); ++i) result[i] = Dim::unknown();
    context.set_output(0, context.dtype(0), result);
    return {};
  }
  const auto at = static_cast<size_t>(TRY(normalize_axis(*axis, x->size())));
  Dim length = (*x)[at];
  if (inverse && onesided) length = length == 0 ? Dim::unknown() : 2 * (length - 1);
  if (context.has_input(1)) length = number_or_unknown(known_int(context, 1));
  if (at + 1 < result.size()) result[at] = onesided && !inverse ? half_spectrum(length) : length;
  context.set_output(0, context.dtype(0), result);
  return {};
}

Status infer_stft(ShapeContext& context) {
  TRY(require_rank(context, 0, 3, 3));
  const SymbolicShape x = input_shape(context, 0).value_or(unknown_dims(3));
  Dim length = x[1];
  if (context.has_input(2)) {
    TRY(require_rank(context, 2, 1, 1));
    length = input_shape(context, 2).value_or(unknown_dims(1)).front();
  }
  if (context.has_input(3)) length = number_or_unknown(known_int(context, 3));
  const Dim step = number_or_unknown(known_int(context, 1));
  Dim frames = Dim::unknown();
  const Dim room = x[1] - length;
  if (step != 0 && !(room.is_number() && room.number() < 0)) frames = floor_div(room, step) + 1;
  const bool onesided = context.attributes().get_int("onesided", 1) != 0;
  context.set_output(0, context.dtype(0),
                     SymbolicShape{x[0], frames, onesided ? half_spectrum(length) : length, Dim(2)});
  return {};
}

Status infer_window(ShapeContext& context) {
  context.set_output(0, TRY(dtype_attribute(context, "output_datatype", DType::f32)),
                     SymbolicShape{number_or_unknown(known_int(context, 0))});
  return {};
}

Status infer_mel(ShapeContext& context) {
  const Dim bands = number_or_unknown(known_int(context, 0));
  const Dim length = number_or_unknown(known_int(context, 1));
  context.set_output(0, TRY(dtype_attribute(context, "output_datatype", DType::f32)),
                     SymbolicShape{half_spectrum(length), bands});
  return {};
}

}  // namespace

std::span<const OpInfo> signal_ops() {
  static const OpInfo signal_rows[] = {
      {"BlackmanWindow", "", 1, 1, 1, 1, infer_window}, {"DFT", "", 1, 3, 1, 1, infer_dft},
      {"HammingWindow", "", 1, 1, 1, 1, infer_window},  {"HannWindow", "", 1, 1, 1, 1, infer_window},
      {"MelWeightMatrix", "", 5, 5, 1, 1, infer_mel},   {"STFT", "", 2, 4, 1, 1, infer_stft},
  };
  return signal_rows;
}

}  // namespace intarsia
