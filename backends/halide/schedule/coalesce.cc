#include "backends/halide/schedule/coalesce.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

/// Pads the sizes on the left with ones (stride 0) to `rank`.
void pad_rank(Argument& argument, size_t rank) {
  size_t missing = rank - argument.shape.size();
  argument.shape.insert(argument.shape.begin(), missing, 1);
  argument.strides.insert(argument.strides.begin(), missing, 0);
}

void permute(Argument& argument, const std::vector<size_t>& order) {
  Argument from = argument;
  for (size_t i = 0; i < order.size(); ++i)
    argument.shape[i] = from.shape[order[i]], argument.strides[i] = from.strides[order[i]];
}

bool can_merge(const Argument& argument, size_t outer, size_t inner, const Argument& full) {
  bool outer_one = full.shape[outer] == 1, inner_one = full.shape[inner] == 1;
  if (outer_one || inner_one) return true;
  bool spans_outer = argument.shape[outer] != 1, spans_inner = argument.shape[inner] != 1;
  if (!spans_outer && !spans_inner) return true;
  return spans_outer && spans_inner &&
         provably_equal(argument.strides[outer], argument.strides[inner] * argument.shape[inner]);
}

/// Merges two axes. The merged axis is at `inner`; `outer` remains with size 1.
void merge(Argument& argument, size_t outer, size_t inner) {
  if (argument.shape[inner] == 1) argument.strides[inner] = argument.strides[outer];
  argument.shape[inner] = argument.shape[inner] * argument.shape[outer];
  argument.shape[outer] = 1;
  if (argument.shape[inner] == 1) argument.strides[inner] = 0;
}

void drop_ones(Argument& argument, const std::vector<bool>& keep) {
  SymbolicShape shape, strides;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) shape.push_back(argument.shape[i]), strides.push_back(argument.strides[i]);
  argument.shape = shape, argument.strides = strides;
}

void set_shapes(Kernel& kernel) {
  for (size_t i = 0; i < kernel.inputs.size(); ++i)
    kernel.body.value(kernel.body.inputs[i]).type.shape = kernel.inputs[i].shape;
}

void coalesce_elementwise(Kernel& kernel) {
  size_t rank = kernel.output.shape.size();
  std::vector<size_t> order = storage_order(kernel.output.strides);
  std::vector<Argument*> all{&kernel.output};
  for (Argument& input : kernel.inputs) all.push_back(&input);
  for (Argument* argument : all) pad_rank(*argument, rank), permute(*argument, order);
  for (size_t inner = rank; inner-- > 1;) {
    if (!std::ranges::all_of(all,
                             [&](Argument* a) { return can_merge(*a, inner - 1, inner, kernel.output); }))
      continue;
    // Merges toward the outer place, so that the next pair is considered with the sizes merged so far.
    for (Argument* argument : all) {
      merge(*argument, inner - 1, inner);
      std::swap(argument->shape[inner - 1], argument->shape[inner]);
      std::swap(argument->strides[inner - 1], argument->strides[inner]);
    }
  }
  std::vector<bool> keep(rank);
  for (size_t i = 0; i < rank; ++i) keep[i] = kernel.output.shape[i] != 1;
  for (Argument* argument : all) drop_ones(*argument, keep);
  set_shapes(kernel);
  for (const Node& node : kernel.body.nodes)
    kernel.body.value(node.outputs[0]).type.shape = kernel.output.shape;
}

/// Checks for a convolution of single pixels.
bool is_pointwise(const Node& node, const Shape& weights) {
  const ConvAttributes conv = attributes_of<ConvAttributes>(node);
  return element_count(Shape(weights.begin() + 2, weights.end())) == 1 && all_are(conv.strides, 1) &&
         conv.unfolded == 1 && all_are(conv.pads, 0) && all_are(conv.input_dilations, 1);
}

void coalesce_pointwise(Kernel& kernel) {
  const Node& node = kernel.body.node(kernel.anchor);
  size_t rank = kernel.output.shape.size();
  if (op_of(node) != CoreOp::conv || !is_pointwise(node, shape_of(kernel.body, node.inputs[1]))) return;
  std::vector<Argument*> all{&kernel.output};
  for (size_t i = 0; i < kernel.inputs.size(); ++i)
    if (kernel.body.inputs[i] != node.inputs[1]) all.push_back(&kernel.inputs[i]);
  for (Argument* argument : all) pad_rank(*argument, rank);
  for (size_t outer = rank - 1; outer-- > 2;) {
    if (!std::ranges::all_of(all, [&](Argument* a) { return can_merge(*a, outer, rank - 1, kernel.output); }))
      break;
    for (Argument* argument : all) merge(*argument, outer, rank - 1);
  }
  set_shapes(kernel);
  SymbolicShape shape = kernel.output.shape;
  shape[1] = sizes_of(kernel.body, node.inputs[0])[1];
  for (size_t n = 0; n < kernel.body.nodes.size(); ++n) {
    if (NodeId(n) == kernel.anchor) shape = kernel.output.shape;
    kernel.body.value(kernel.body.nodes[n].outputs[0]).type.shape = shape;
  }
}

}  // namespace

void coalesce(Kernel& kernel) {
  if (kernel.form == Form::elementwise) coalesce_elementwise(kernel);
  if (kernel.form == Form::contraction) coalesce_pointwise(kernel);
}

}  // namespace intarsia::halide
