#include "backends/reference/kernels/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "backends/reference/kernels/move.h"

namespace intarsia::reference {
namespace {

/// Names of the axes of a term: letters; for the axes of an ellipsis the numbers -1, -2, ... from the last
/// on.
using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> terms;
  Labels result;
  Labels summed;  // labels that are only in the terms
  std::map<int, int64_t> sizes;
};

/// Parses a term; `rank` is that of its input.
Result<Labels> parse_term(std::string_view text, size_t rank) {
  const size_t dots = text.find("...");
  const size_t letters = text.size() - (dots == std::string_view::npos ? 0 : 3);
  if (dots == std::string_view::npos ? letters != rank : letters > rank) {
    return fail("the term '{}' for an input of rank {}", text, rank);
  }
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (size_t k = rank - letters; k > 0; --k) labels.push_back(-static_cast<int>(k));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else {
      return fail("'{}' in the term '{}'", text[i], text);
    }
  }
  return labels;
}

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

/// Returns the result of the implicit form: ellipsis axes, then the letters that occur once, in ASCII order.
Labels implicit_result(const Equation& equation) {
  std::map<int, int> uses;
  for (const Labels& term : equation.terms) {
    for (int label : term) ++uses[label];
  }
  Labels result;
  for (const auto& [label, count] : uses) {
    if (label < 0 || count == 1) result.push_back(label);
  }
  return result;
}

Result<Equation> parse_equation(const KernelContext& context) {
  std::string text = context.attributes().get_string("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const size_t comma = left.find(',');
    const bool last = i + 1 == context.input_count();
    if ((comma == std::string_view::npos) != last) {
      return fail("'{}' does not have the {} terms of the inputs", text, context.input_count());
    }
    equation.terms.push_back(TRY(parse_term(left.substr(0, comma), context.input(i).shape.size())));
    TRY(learn_sizes(equation, equation.terms.back(), context.input(i).shape));
    if (!last) left.remove_prefix(comma + 1);
  }
  if (arrow == std::string::npos) {
    equation.result = implicit_result(equation);
  } else {
    const std::string_view right = std::string_view(text).substr(arrow + 2);
    const auto dots = static_cast<size_t>(
        std::ranges::count_if(equation.sizes, [](const auto& entry) { return entry.first < 0; }));
    const bool has_dots = right.find("...") != std::string_view::npos;
    equation.result = TRY(parse_term(right, has_dots ? right.size() - 3 + dots : right.size()));
  }
  for (size_t i = 0; i < equation.result.size(); ++i) {
    const int label = equation.result[i];
    if (!equation.sizes.contains(label)) return fail("'{}': a label of the result is not in any term", text);
    if (std::ranges::count(equation.result, label) > 1)
      return fail("'{}' repeats a label of the result", text);
  }
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
  const Equation equation = TRY(parse_equation(context));
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
