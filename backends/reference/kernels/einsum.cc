#include "backends/reference/kernels/einsum.h"

#include <algorithm>
#include <map>

#include "backends/reference/kernels/move.h"
#include "base/einsum_equation.h"

namespace intarsia::reference {
namespace {

using Labels = EinsumLabels;

struct Equation {
  std::vector<Labels> terms;
  Labels result;
  Labels summed;  // labels that are only in the terms
  std::map<int, int64_t> sizes;
};

Status learn_sizes(Equation& equation, const Labels& term, const Shape& shape) {
  for (size_t i = 0; i < term.size(); ++i) {
    int64_t& size = equation.sizes.try_emplace(term[i], 1).first->second;
    if (size != shape[i] && size != 1 && shape[i] != 1) {
      return fail("sizes {} and {} for one label", size, shape[i]);
    }
    if (size == 1) size = shape[i];
  }
  return {};
}

Result<Equation> read_equation(const KernelContext& context) {
  std::vector<size_t> ranks;
  for (size_t i = 0; i < context.input_count(); ++i) ranks.push_back(context.input(i).shape.size());
  EinsumEquation parsed = TRY(parse_einsum(context.attributes().get_string("equation", ""), ranks));
  Equation equation{std::move(parsed.terms), std::move(parsed.result), {}, {}};
  for (size_t i = 0; i < ranks.size(); ++i)
    TRY(learn_sizes(equation, equation.terms[i], context.input(i).shape));
  for (const auto& [label, size] : equation.sizes) {
    if (std::ranges::find(equation.result, label) == equation.result.end()) equation.summed.push_back(label);
  }
  return equation;
}

/// Returns the stride of the input for each label; a repeated label walks the diagonal.
Shape label_strides(const Labels& labels, const Labels& term, const Shape& shape) {
  const Shape strides = row_major_strides(shape);
  Shape result;
  for (int label : labels) {
    int64_t stride = 0;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == label && shape[i] != 1) stride += strides[i];
    }
    result.push_back(stride);
  }
  return result;
}

Shape label_sizes(const Equation& equation, const Labels& labels) {
  Shape shape;
  for (int label : labels) shape.push_back(equation.sizes.at(label));
  return shape;
}

/// Returns the offsets that one input adds, for every element of the walk over `labels`.
std::vector<int64_t> walk_offsets(const Equation& equation, const Labels& labels, size_t input,
                                  const Shape& shape) {
  std::vector<int64_t> offsets;
  for_each_offset<1>(label_sizes(equation, labels), {label_strides(labels, equation.terms[input], shape)},
                     [&](int64_t, const auto& at) { offsets.push_back(at[0]); });
  return offsets;
}

}  // namespace

Status einsum(KernelContext& context) {
  if (context.input_count() == 0) return fail("no inputs");
  TRY(require_inputs(context, context.input_count()));
  const DType dtype = context.input(0).dtype;
  const Equation equation = TRY(read_equation(context));
  const Shape shape = label_sizes(equation, equation.result);
  TRY(checked_elements(shape));
  const int64_t terms = TRY(checked_elements(label_sizes(equation, equation.summed)));
  // Offsets of one sum are listed; more than this is an attack, not a model.
  if (terms > int64_t{1} << 28) return fail("each sum has {} terms", terms);
  const TensorView y = TRY(context.output(0, dtype, shape));
  return dispatch_number(dtype, [&]<typename T>() -> Status {
    std::vector<std::unique_ptr<ReadAs<T>>> in;
    std::vector<std::vector<int64_t>> outer, inner;
    for (size_t i = 0; i < context.input_count(); ++i) {
      const ConstTensorView& x = context.input(i);
      if (x.dtype != dtype) return fail("input {} has dtype {}", i, dtype_name(x.dtype));
      in.push_back(std::make_unique<ReadAs<T>>(x));
      outer.push_back(walk_offsets(equation, equation.result, i, x.shape));
      inner.push_back(walk_offsets(equation, equation.summed, i, x.shape));
    }
    WriteAs<T> out(y);
    for (int64_t o = 0; o < out.size(); ++o) {
      Wrapping<T> sum = 0;
      for (int64_t k = 0; k < terms; ++k) {
        Wrapping<T> product = 1;
        for (size_t i = 0; i < in.size(); ++i) {
          product *= static_cast<Wrapping<T>>(
              (*in[i])[outer[i][static_cast<size_t>(o)] + inner[i][static_cast<size_t>(k)]]);
        }
        sum += product;
      }
      out[o] = static_cast<T>(sum);
    }
    return {};
  });
}

}  // namespace intarsia::reference
