// Operators whose output's size is data: their kernels count it (abi/counted.h), and no other node of the
// region reads it.
#include <array>

#include "backends/halide/abi/counted.h"
#include "backends/halide/abi/element_types.h"
#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {
namespace {

/// Emits an operator that counts axis `counted` of `sizes`, which has `most` elements at most.
Status set_counted(Rewriter& r, size_t output, CoreOp op, std::vector<ValueId> inputs, SymbolicShape sizes,
                   int64_t counted, const Dim& most, CountedAttributes attributes = {}) {
  const DType dtype = r.stored_out_dtype(output);
  attributes.counted = counted;
  attributes.sizes = std::move(sizes);
  attributes.sizes[static_cast<size_t>(counted)] = 1;
  const Dim others = product_of_dims(attributes.sizes, 0, attributes.sizes.size());
  const auto header = static_cast<int64_t>(counted_header / dtype_bytes(dtype, 1));
  const Dim room = others * most + header;
  if (room.is_number() && room.number() > max_elements)
    return fail("{} to up to {} elements", r.node().op, room.number());
  r.set_output(output, r.emit(op, std::move(inputs), dtype, SymbolicShape{room}, attributes));
  return {};
}

Dim elements_of(const SymbolicShape& sizes) { return product_of_dims(sizes, 0, sizes.size()); }

/// Returns floats of 16 bits as f32, so that kernels may compare them.
ValueId comparable(Rewriter& r, ValueId x) {
  return is_half_float(r.dtype(x)) ? r.converted(x, DType::f32) : x;
}

Status find_places(Rewriter& r, bool as_rows) {
  const ValueId x = comparable(r, r.stored_in(0));
  const SymbolicShape sizes = r.sizes(x);
  const ValueId is_zero = r.emit(CoreOp::equal, {x, r.add_scalar(0, r.dtype(x))}, DType::boolean, sizes);
  ValueId flags = r.emit(CoreOp::logical_not, {is_zero}, DType::boolean, sizes);
  if (sizes.empty()) flags = r.reshape(flags, {1});
  const SymbolicShape places = as_rows ? SymbolicShape{1, r.rank(x)} : SymbolicShape{r.rank(x), 1};
  CountedAttributes attributes;
  attributes.as_rows = as_rows;
  return set_counted(r, 0, CoreOp::non_zero, {flags}, places, as_rows ? 0 : 1, elements_of(sizes),
                     attributes);
}

Status non_zero(Rewriter& r) { return find_places(r, false); }
Status non_zero_rows(Rewriter& r) { return find_places(r, true); }

/// Tensor as slices along the middle one of three axes, and its sizes: those that it has, or, without the
/// attribute `axis`, one axis.
struct Slices {
  ValueId slices = no_value;
  SymbolicShape sizes;
  size_t axis = 0;

  const Dim& count() const { return sizes[axis]; }
};

Result<Slices> read_slices(Rewriter& r) {
  const ValueId x = r.stored_in(0);
  Slices result{x, r.sizes(x)};
  if (r.attributes().has("axis"))
    result.axis = static_cast<size_t>(TRY(r.axis(r.attributes().get_int("axis", 0), r.rank(x))));
  else
    result.sizes = {elements_of(result.sizes)};
  result.slices = r.reshape(x, {product_of_dims(result.sizes, 0, result.axis), result.count(),
                                product_of_dims(result.sizes, result.axis + 1, result.sizes.size())});
  return result;
}

Status compress(Rewriter& r) {
  const ValueId condition = r.stored_in(1);
  if (r.dtype(condition) != DType::boolean || r.rank(condition) != 1)
    return fail("Compress by a condition of {}", print_shape(r.sizes(condition)));
  const Slices x = TRY(read_slices(r));
  const Dim tests = r.sizes(condition)[0];
  TRY(r.require(x.count() - tests,
                fmt::format("a condition of {} for {}", tests.print(), x.count().print())));
  return set_counted(r, 0, CoreOp::compress, {x.slices, condition}, x.sizes, static_cast<int64_t>(x.axis),
                     x.count());
}

/// Outputs of a Unique, as CountedAttributes::wanted numbers them.
enum class Distinct { values, places, groups, counts };

/// Sets outputs to what is wanted of distinct slices, which are compared as rows.
Status set_distinct(Rewriter& r, CountedAttributes attributes, std::span<const Distinct> outputs) {
  const Slices x = TRY(read_slices(r));
  const SymbolicShape sizes = r.sizes(x.slices);
  const Dim elements = sizes[0] * sizes[2];
  TRY(r.require(elements - 1, fmt::format("{} of slices of {} elements", r.node().op, elements.print())));
  const ValueId rows = r.reshape(r.transpose(comparable(r, x.slices), {1, 0, 2}), {sizes[1], elements});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!has_output(r.node(), i)) continue;
    attributes.wanted = static_cast<int64_t>(outputs[i]);
    attributes.is_counted = outputs[i] != Distinct::groups;
    const std::vector<ValueId> inputs{rows, x.slices};
    if (outputs[i] == Distinct::values)
      TRY(set_counted(r, i, CoreOp::unique, inputs, x.sizes, static_cast<int64_t>(x.axis), x.count(),
                      attributes));
    else if (outputs[i] == Distinct::groups)
      r.set_output(
          i, r.emit(CoreOp::unique, inputs, r.stored_out_dtype(i), SymbolicShape{x.count()}, attributes));
    else
      TRY(set_counted(r, i, CoreOp::unique, inputs, {1}, 0, x.count(), attributes));
  }
  return {};
}

Status unique(Rewriter& r) {
  constexpr std::array outputs{Distinct::values, Distinct::places, Distinct::groups, Distinct::counts};
  CountedAttributes attributes;
  attributes.sorted = r.attributes().get_int("sorted", 1) != 0;
  return set_distinct(r, std::move(attributes), outputs);
}

Status unique_in_order(Rewriter& r) {
  constexpr std::array outputs{Distinct::values, Distinct::groups, Distinct::counts};
  CountedAttributes attributes;
  attributes.nan_apart = is_float(r.dtype(r.stored_in(0)));
  return set_distinct(r, std::move(attributes), outputs);
}

/// Returns an input of one number, or the number that it is if it is absent.
Result<ValueId> number_in(Rewriter& r, size_t i, DType dtype, double otherwise) {
  if (!r.has_input(i)) return r.reshape(r.add_scalar(otherwise, dtype), {1});
  const ValueId number = r.stored_in(i);
  if (r.dtype(number) != dtype || elements_of(r.sizes(number)) != 1)
    return fail("NonMaxSuppression: input {} is {} {}, want one {}", i, dtype_name(r.dtype(number)),
                print_shape(r.sizes(number)), dtype_name(dtype));
  return r.reshape(number, {1});
}

/// Inputs and attributes of a NonMaxSuppression, and the most boxes of a class that it leaves.
struct Suppression {
  std::vector<ValueId> inputs;
  CountedAttributes attributes;
  Dim of_class;
};

Result<Suppression> read_suppression(Rewriter& r) {
  const ValueId boxes = r.stored_in(0), scores = r.stored_in(1);
  const SymbolicShape of_boxes = r.sizes(boxes), of_scores = r.sizes(scores);
  if (r.dtype(boxes) != DType::f32 || r.dtype(scores) != DType::f32 || of_boxes.size() != 3 ||
      of_scores.size() != 3 || of_boxes[2] != 4)
    return fail("{} of {} and {}", r.node().op, print_shape(of_boxes), print_shape(of_scores));
  for (const Dim& more : {of_boxes[0] - of_scores[0], of_boxes[1] - of_scores[2]})
    for (const Dim& nonnegative : {more, 0 - more})
      TRY(r.require(nonnegative,
                    fmt::format("boxes {} for scores {}", print_shape(of_boxes), print_shape(of_scores))));
  const ValueId most = TRY(number_in(r, 2, DType::i64, 0)), overlap = TRY(number_in(r, 3, DType::f32, 0)),
                score = TRY(number_in(r, 4, DType::f32, 0));
  CountedAttributes attributes;
  attributes.has_score = r.has_input(4);
  attributes.centered = r.attributes().get_int("center_point_box", 0) != 0;
  attributes.sigma = r.attributes().get_float("sigma", 0);
  Dim of_class = of_boxes[1];
  if (const Tensor* known = r.constant(most))
    of_class = smaller_of(of_class, std::max<int64_t>(known->as<int64_t>()[0], 0));
  return Suppression{{boxes, scores, most, overlap, score}, std::move(attributes), of_class};
}

Status non_max_suppression(Rewriter& r) {
  const Suppression rule = TRY(read_suppression(r));
  const SymbolicShape& of_scores = r.sizes(rule.inputs[1]);
  return set_counted(r, 0, CoreOp::non_max_suppression, rule.inputs, {1, 3}, 0,
                     of_scores[0] * of_scores[1] * rule.of_class, rule.attributes);
}

/// Emits a suppression whose output has a known size.
ValueId suppress_to(Rewriter& r, const Suppression& rule, BoxParts parts, int64_t size) {
  CountedAttributes attributes = rule.attributes;
  attributes.is_counted = false;
  attributes.parts = parts;
  return r.emit(CoreOp::non_max_suppression, rule.inputs, DType::i32, SymbolicShape{size}, attributes);
}

/// Sets the outputs to parts of one tensor, so that boxes are suppressed once.
Status set_padded(Rewriter& r, const Suppression& rule) {
  const Tensor* most = r.constant(rule.inputs[2]);
  if (most == nullptr) return fail("{} padded to a size known only at run time", r.node().op);
  const int64_t size = most->as<int64_t>()[0];
  if (size < 1 || size > max_elements / 4) return fail("{} padded to {} boxes", r.node().op, size);
  const ValueId all = suppress_to(r, rule, BoxParts::padded, 2 * size + 1);
  const auto part = [&](int64_t first, int64_t count) { return slice(r, all, {first}, {1}, {count}); };
  r.set_output(0, part(0, size));
  if (has_output(r.node(), 1))
    r.set_output(1, r.emit(CoreOp::bit_cast, {part(size, size)}, DType::f32, SymbolicShape{size}));
  if (has_output(r.node(), 2)) r.set_output(2, r.reshape(part(2 * size, 1), {}));
  return {};
}

/// Sets places, scores and number of the boxes of one image and class.
Status non_max_suppression_places(Rewriter& r) {
  Suppression rule = TRY(read_suppression(r));
  const SymbolicShape& of_scores = r.sizes(rule.inputs[1]);
  if (of_scores[0] != 1 || of_scores[1] != 1)
    return fail("{} of {} images and {} classes", r.node().op, of_scores[0].print(), of_scores[1].print());
  if (r.attributes().get_int("padded", 0) != 0) return set_padded(r, rule);
  constexpr std::array counted{BoxParts::places, BoxParts::scores};
  for (size_t i = 0; i < counted.size(); ++i) {
    if (!has_output(r.node(), i)) continue;
    rule.attributes.parts = counted[i];
    TRY(set_counted(r, i, CoreOp::non_max_suppression, rule.inputs, {1}, 0, rule.of_class, rule.attributes));
  }
  if (has_output(r.node(), 2)) r.set_output(2, r.reshape(suppress_to(r, rule, BoxParts::number, 1), {}));
  return {};
}

constexpr std::array counted_rule_list = std::to_array<RuleEntry>({
    {"Compress", compress},
    {"NonMaxSuppression", non_max_suppression},
    {"NonMaxSuppressionPlaces", non_max_suppression_places},
    {"NonZero", non_zero},
    {"NonZeroRows", non_zero_rows},
    {"Unique", unique},
    {"UniqueInOrder", unique_in_order},
});

}  // namespace

std::span<const RuleEntry> counted_rules() { return counted_rule_list; }

}  // namespace intarsia::halide
