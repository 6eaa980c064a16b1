#include <algorithm>
#include <numeric>

#include "tensorflow/dtypes.h"
#include "translate/layout.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

Status reshape(Translation& t) {
  // TensorFlow takes a zero as a size; ours copies a size for it unless allowzero is set.
  const ValueId shape = t.integers_input(1);
  t.give(0, t.make("Reshape", {t.input(0), shape}, {{"allowzero", int64_t{1}}}));
  return {};
}

Status transpose(Translation& t) {
  std::vector<int64_t> permutation = TRY(t.integers(1));
  const int64_t rank = TRY(t.rank(0));
  for (int64_t& axis : permutation) axis = TRY(normal_axis(axis, rank));
  t.give(0, t.transpose(t.input(0), permutation));
  return {};
}

Status expand_dims(Translation& t) {
  const int64_t axis = TRY(normal_axis(TRY(t.integer(1)), TRY(t.rank(0)) + 1));
  t.give(0, t.make("Unsqueeze", {t.input(0), t.make_integers({axis})}));
  return {};
}

Status squeeze(Translation& t) {
  const std::vector<int64_t> axes = t.attributes().get_ints("squeeze_dims", t.attributes().get_ints("axis"));
  t.give(0, axes.empty() ? t.make("Squeeze", {t.input(0)})
                         : t.make("Squeeze", {t.input(0), t.make_integers(axes)}));
  return {};
}

Status concat_along(Translation& t, std::vector<ValueId> parts, size_t axis_input, size_t first) {
  const int64_t axis = TRY(normal_axis(TRY(t.integer(axis_input)), TRY(t.rank(first))));
  t.give(0, parts.size() == 1 ? parts[0] : t.make("Concat", std::move(parts), {{"axis", axis}}));
  return {};
}

Status concat_v2(Translation& t) {
  if (t.input_count() < 2) return fail("of nothing");
  const size_t last = t.input_count() - 1;
  std::vector<ValueId> parts;
  for (size_t i = 0; i < last; ++i) parts.push_back(t.input(i));
  return concat_along(t, std::move(parts), last, 0);
}

Status concat(Translation& t) {
  if (t.input_count() < 2) return fail("of nothing");
  return concat_along(t, t.inputs(1), 0, 1);
}

Status pack(Translation& t) {
  if (t.input_count() == 0) return fail("of nothing");
  const int64_t axis = TRY(normal_axis(t.attributes().get_int("axis", 0), TRY(t.rank(0)) + 1));
  const ValueId axes = t.make_integers({axis});
  std::vector<ValueId> parts;
  for (size_t i = 0; i < t.input_count(); ++i) parts.push_back(t.make("Unsqueeze", {t.input(i), axes}));
  t.give(0, parts.size() == 1 ? parts[0] : t.make("Concat", std::move(parts), {{"axis", axis}}));
  return {};
}

/// Splits into parts of these sizes along the axis, one per output.
Status split_into(Translation& t, ValueId value, int64_t axis, const std::vector<int64_t>& sizes,
                  bool drop_axis) {
  const std::vector<ValueId> parts =
      sizes.size() == 1
          ? std::vector<ValueId>{value}
          : t.make_several("Split", {value, t.make_integers(sizes)}, sizes.size(), {{"axis", axis}});
  for (size_t i = 0; i < parts.size(); ++i) {
    if (t.wants_output(i))
      t.give(i, drop_axis ? t.make("Squeeze", {parts[i], t.make_integers({axis})}) : parts[i]);
  }
  return {};
}

constexpr int64_t max_parts = 1 << 16;

/// Returns a size as a number. Error: it is open.
Result<int64_t> number_of(const Dim& size) {
  if (size.is_number()) return size.number();
  return fail("an axis of {} elements", size.print());
}

Status unpack(Translation& t) {
  const SymbolicShape shape = TRY(t.sizes(0));
  const int64_t axis =
      TRY(normal_axis(t.attributes().get_int("axis", 0), static_cast<int64_t>(shape.size())));
  const int64_t parts = TRY(number_of(shape[static_cast<size_t>(axis)]));
  if (parts != t.attributes().get_int("num", parts) || parts > max_parts)
    return fail("{} parts, its attribute says {}", parts, t.attributes().get_int("num", parts));
  return split_into(t, t.input(0), axis, std::vector<int64_t>(static_cast<size_t>(parts), 1), true);
}

Status split(Translation& t) {
  const SymbolicShape shape = TRY(t.sizes(1));
  const int64_t axis = TRY(normal_axis(TRY(t.integer(0)), static_cast<int64_t>(shape.size())));
  const int64_t parts = t.attributes().get_int("num_split", 1),
                size = TRY(number_of(shape[static_cast<size_t>(axis)]));
  if (parts < 1 || parts > max_parts || size % parts != 0)
    return fail("{} elements into {} parts", size, parts);
  return split_into(t, t.input(1), axis, std::vector<int64_t>(static_cast<size_t>(parts), size / parts),
                    false);
}

Status split_v(Translation& t) {
  const SymbolicShape shape = TRY(t.sizes(0));
  const int64_t axis = TRY(normal_axis(TRY(t.integer(2)), static_cast<int64_t>(shape.size())));
  std::vector<int64_t> sizes = TRY(t.integers(1));
  const auto open = std::ranges::find(sizes, -1);
  if (open != sizes.end()) {
    *open = 0;
    *open = TRY(number_of(shape[static_cast<size_t>(axis)])) -
            std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  }
  if (sizes.empty()) return fail("into no parts");
  return split_into(t, t.input(0), axis, sizes, false);
}

/// Reads pads: [rank, 2] pairs of start and end -> all starts, then all ends.
Result<std::vector<int64_t>> read_pads(const Translation& t) {
  const std::vector<int64_t> pairs = TRY(t.integers(1));
  std::vector<int64_t> pads(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) pads[i / 2 + (i % 2) * (pairs.size() / 2)] = pairs[i];
  return pads;
}

Status pad(Translation& t) {
  t.give(0, t.make("Pad", {t.input(0), t.make_integers(TRY(read_pads(t)))},
                   {{"mode", std::string("constant")}}));
  return {};
}

Status pad_v2(Translation& t) {
  t.give(0, t.make("Pad", {t.input(0), t.make_integers(TRY(read_pads(t))), t.input(2)},
                   {{"mode", std::string("constant")}}));
  return {};
}

/// Translates MirrorPad. SYMMETRIC repeats the border element, which our Pad cannot do: it would take slices
/// and reversals.
Status mirror_pad(Translation& t) {
  const std::string mode = t.attributes().get_string("mode", "");
  if (mode != "REFLECT") return fail("in mode {}", mode);
  t.give(0,
         t.make("Pad", {t.input(0), t.make_integers(TRY(read_pads(t)))}, {{"mode", std::string("reflect")}}));
  return {};
}

Status tile(Translation& t) {
  t.give(0, t.make("Tile", {t.input(0), t.integers_input(1)}));
  return {};
}

Status broadcast_to(Translation& t) {
  t.give(0, t.make("Expand", {t.input(0), t.integers_input(1)}));
  return {};
}

Status fill(Translation& t) {
  t.give(0, t.make("Expand", {t.input(1), t.integers_input(0)}));
  return {};
}

Status range(Translation& t) {
  t.give(0, t.make("Range", t.inputs()));
  return {};
}

Status lin_space(Translation& t) {
  const int64_t count = TRY(t.integer(2));
  if (count < 2 || count > max_made_elements || t.dtype(0) != DType::f32)
    return fail("of {} elements", count);
  Tensor steps(DType::f32, {count});
  std::iota(steps.as<float>().begin(), steps.as<float>().end(), 0.0f);
  const ValueId step = t.make("Div", {t.make("Sub", {t.input(1), t.input(0)}),
                                      t.make_scalar(DType::f32, static_cast<double>(count - 1))});
  t.give(0, t.make("Add", {t.input(0), t.make("Mul", {t.make_constant(std::move(steps)), step})}));
  return {};
}

/// Casts to the requested type: shape arithmetic is i32 in TensorFlow, i64 in ours.
ValueId as_wanted(Translation& t, ValueId value) {
  const DType type = tensorflow::get_dtype(t.attributes(), "out_type", DType::i32);
  return type == DType::i64 ? value : t.cast(value, type);
}

Status shape(Translation& t) {
  t.give(0, as_wanted(t, t.make("Shape", {t.input(0)})));
  return {};
}

Status shape_n(Translation& t) {
  for (size_t i = 0; i < t.input_count(); ++i) {
    if (t.wants_output(i)) t.give(i, as_wanted(t, t.make("Shape", {t.input(i)})));
  }
  return {};
}

Status size(Translation& t) {
  t.give(0, as_wanted(t, t.make("Size", {t.input(0)})));
  return {};
}

Status rank(Translation& t) {
  Tensor scalar(DType::i32, {});
  scalar.as<int32_t>()[0] = static_cast<int32_t>(TRY(t.rank(0)));
  t.give(0, t.make_constant(std::move(scalar)));
  return {};
}

Status broadcast_args(Translation& t) {
  const Shape both = TRY(broadcast_shapes(TRY(t.integers(0)), TRY(t.integers(1))));
  const ValueId sizes = t.make_integers(both);
  t.give(0, t.dtype(0) == DType::i64 ? sizes : t.cast(sizes, t.dtype(0)));
  return {};
}

Status blocks(Translation& t, const char* op, bool to_depth) {
  if (t.attributes().get_string("data_format", "NHWC") != "NHWC")
    return fail("data format {}", t.attributes().get_string("data_format", ""));
  const Layout layout{2, true};
  if (TRY(t.rank(0)) != 4) return fail("of rank {}", TRY(t.rank(0)));
  Translation::NamedAttributes attributes{{"blocksize", t.attributes().get_int("block_size", 1)}};
  if (!to_depth) attributes.emplace_back("mode", std::string("DCR"));
  t.give(0, from_channels_first(
                t, t.make(op, {to_channels_first(t, t.input(0), layout)}, std::move(attributes)), layout));
  return {};
}

Status space_to_depth(Translation& t) { return blocks(t, "SpaceToDepth", true); }
Status depth_to_space(Translation& t) { return blocks(t, "DepthToSpace", false); }

/// Pads, cuts each block axis in two, and moves the block positions to the batch (TensorFlow's documentation
/// of the operator).
Status space_to_batch(Translation& t) {
  const Shape image = TRY(t.shape(0));
  const std::vector<int64_t> block = TRY(t.integers(1)), pairs = TRY(t.integers(2));
  const size_t blocks = block.size();
  if (pairs.size() != 2 * blocks || image.size() < blocks + 1)
    return fail("of rank {} with {} block sizes", image.size(), blocks);
  std::vector<int64_t> pads(2 * image.size(), 0), cut{image[0]}, order, merged{image[0]};
  for (size_t i = 0; i < blocks; ++i) {
    pads[i + 1] = pairs[2 * i];
    pads[i + 1 + image.size()] = pairs[2 * i + 1];
    const int64_t padded = image[i + 1] + pairs[2 * i] + pairs[2 * i + 1];
    if (block[i] < 1 || padded % block[i] != 0) return fail("{} elements in blocks of {}", padded, block[i]);
    cut.insert(cut.end(), {padded / block[i], block[i]});
    order.push_back(static_cast<int64_t>(2 * i + 2));
    merged[0] *= block[i];
    merged.push_back(padded / block[i]);
  }
  order.push_back(0);
  for (size_t i = 0; i < blocks; ++i) order.push_back(static_cast<int64_t>(2 * i + 1));
  for (size_t axis = blocks + 1; axis < image.size(); ++axis) {
    order.push_back(static_cast<int64_t>(cut.size()));
    cut.push_back(image[axis]);
    merged.push_back(image[axis]);
  }
  const ValueId padded =
      t.make("Pad", {t.input(0), t.make_integers(pads)}, {{"mode", std::string("constant")}});
  t.give(0, t.reshape(t.transpose(t.reshape(padded, cut), order), merged));
  return {};
}

/// Translates the inverse of SpaceToBatchND, with crops.
Status batch_to_space(Translation& t) {
  const Shape image = TRY(t.shape(0));
  const std::vector<int64_t> block = TRY(t.integers(1)), crops = TRY(t.integers(2));
  const size_t blocks = block.size();
  if (crops.size() != 2 * blocks || image.size() < blocks + 1)
    return fail("of rank {} with {} block sizes", image.size(), blocks);
  int64_t positions = 1;
  for (int64_t size : block) {
    if (size < 1 || positions > max_parts / size) return fail("a block of {} elements", size);
    positions *= size;
  }
  if (image[0] % positions != 0) return fail("{} images in {} positions", image[0], positions);
  std::vector<int64_t> cut(block), order{static_cast<int64_t>(blocks)}, merged{image[0] / positions};
  cut.push_back(image[0] / positions);
  for (size_t axis = 1; axis < image.size(); ++axis) cut.push_back(image[axis]);
  std::vector<int64_t> starts(image.size(), 0), ends, axes(image.size());
  std::iota(axes.begin(), axes.end(), 0);
  ends.push_back(merged[0]);
  for (size_t i = 0; i < blocks; ++i) {
    order.insert(order.end(), {static_cast<int64_t>(blocks + 1 + i), static_cast<int64_t>(i)});
    merged.push_back(image[i + 1] * block[i]);
    starts[i + 1] = crops[2 * i];
    ends.push_back(merged.back() - crops[2 * i + 1]);
  }
  for (size_t axis = blocks + 1; axis < image.size(); ++axis) {
    order.push_back(static_cast<int64_t>(blocks + axis));
    merged.push_back(image[axis]);
    ends.push_back(image[axis]);
  }
  const ValueId whole = t.reshape(t.transpose(t.reshape(t.input(0), cut), order), merged);
  t.give(0, t.make("Slice", {whole, t.make_integers(starts), t.make_integers(ends), t.make_integers(axes)}));
  return {};
}

constexpr TranslationRow movement_rows[] = {
    {"Reshape", reshape},
    {"Transpose", transpose},
    {"ExpandDims", expand_dims},
    {"Squeeze", squeeze},
    {"ConcatV2", concat_v2},
    {"Concat", concat},
    {"Pack", pack},
    {"Unpack", unpack},
    {"Split", split},
    {"SplitV", split_v},
    {"Pad", pad},
    {"PadV2", pad_v2},
    {"MirrorPad", mirror_pad},
    {"Tile", tile},
    {"BroadcastTo", broadcast_to},
    {"BroadcastArgs", broadcast_args},
    {"Fill", fill},
    {"Range", range},
    {"LinSpace", lin_space},
    {"Shape", shape},
    {"ShapeN", shape_n},
    {"Size", size},
    {"Rank", rank},
    {"SpaceToDepth", space_to_depth},
    {"DepthToSpace", depth_to_space},
    {"SpaceToBatchND", space_to_batch},
    {"BatchToSpaceND", batch_to_space},
};

}  // namespace

std::span<const TranslationRow> movement_translations() { return movement_rows; }

}  // namespace intarsia
