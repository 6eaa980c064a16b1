// Operators of random graphs that compute: element by element, along axes, and products.
#include <algorithm>
#include <array>

#include "tests/support/open_graph_writer.h"

namespace intarsia::test {
namespace {

bool unary(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::f32) return false;
  g.node(fmt::format(
      "{}({})", g.one_of({"Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Erf", "Softplus", "HardSwish"}), x.name));
  return true;
}

/// Returns a shape that broadcasts with this one.
SymbolicShape broadcasting(OpenGraphWriter& g, SymbolicShape shape) {
  for (Dim& size : shape)
    if (g.chance(25)) size = size == 1 ? g.random_size() : Dim(1);
  if (!shape.empty() && g.chance(25)) shape.erase(shape.begin(), shape.begin() + g.below(std::ssize(shape)));
  if (shape.size() < 4 && g.chance(10)) shape.insert(shape.begin(), g.random_size());
  return shape;
}

bool binary(OpenGraphWriter& g, const Written& x) {
  if (x.dtype == DType::boolean) return false;
  const std::string other = g.value(x.dtype, broadcasting(g, x.shape));
  const char* op = g.one_of({"Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"});
  g.node(g.chance(50) ? fmt::format("{}({}, {})", op, x.name, other)
                      : fmt::format("{}({}, {})", op, other, x.name));
  return true;
}

bool divide(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::f32) return false;
  const std::string other = g.node(fmt::format("Softplus({})", g.value(x.dtype, broadcasting(g, x.shape))));
  g.node(fmt::format("Div({}, {})", x.name, other));
  return true;
}

bool compare(OpenGraphWriter& g, const Written& x) {
  if (x.dtype == DType::boolean || !x.is_exact) return false;
  const std::string other = g.input(x.dtype, broadcasting(g, x.shape));
  const std::string is =
      g.node(fmt::format("{}({}, {})", g.one_of({"Less", "Greater", "Equal"}), x.name, other));
  if (g.chance(70)) g.node(fmt::format("Where({}, {}, {})", is, x.name, other));
  return true;
}

bool activation(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::f32) return false;
  const std::string slope =
      g.value(x.dtype, SymbolicShape(x.shape.begin() + (x.shape.empty() ? 0 : 1), x.shape.end()));
  g.node(fmt::format("PRelu({}, {})", x.name, slope));
  return true;
}

bool where(OpenGraphWriter& g, const Written& x) {
  if (x.dtype == DType::boolean) return false;
  const std::string condition = g.value(DType::boolean, broadcasting(g, x.shape)),
                    other = g.value(x.dtype, broadcasting(g, x.shape));
  g.node(fmt::format("Where({}, {}, {})", condition, x.name, other));
  return true;
}

bool logic(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::boolean) return false;
  const std::string other = g.value(DType::boolean, broadcasting(g, x.shape));
  const std::string made = g.node(fmt::format("{}({}, {})", g.one_of({"And", "Or", "Xor"}), x.name, other));
  g.node(fmt::format("Cast({}) {{to=1}}", made));
  return true;
}

bool cast(OpenGraphWriter& g, const Written& x) {
  if (x.dtype == DType::f32 && !x.is_exact) return false;
  const int to = x.dtype == DType::f32 ? g.one_of({6, 7}) : 1;
  g.node(fmt::format("Cast({}) {{to={}}}", x.name, to));
  return true;
}

bool clip(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::f32) return false;
  g.node(fmt::format("Clip({})", x.name));
  return true;
}

std::vector<int64_t> random_axes(OpenGraphWriter& g, const Written& x) {
  std::vector<int64_t> axes;
  for (int64_t axis : g.random_order(x.rank()))
    if (axes.empty() || g.chance(35)) axes.push_back(axis);
  std::ranges::sort(axes);
  for (int64_t& axis : axes)
    if (g.chance(30)) axis -= static_cast<int64_t>(x.rank());
  return axes;
}

bool reduce(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.dtype != DType::f32) return false;
  const std::string op =
      g.one_of({"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                "ReduceSumSquare", "ReduceLogSumExp", "ReduceMean", "ReduceMax"});
  const int64_t keep = g.below(2);
  if (g.chance(15)) {
    g.node(fmt::format("{}({}) {{keepdims={}}}", op, x.name, keep));
  } else if (g.version() >= 18 || op == "ReduceSum") {
    const std::string axes = g.ints(random_axes(g, x));
    g.node(fmt::format("{}({}, {}) {{keepdims={}}}", op, x.name, axes, keep));
  } else {
    g.node(fmt::format("{}({}) {{axes={}, keepdims={}}}", op, x.name, list(random_axes(g, x)), keep));
  }
  return true;
}

int64_t signed_random_axis(OpenGraphWriter& g, const Written& x) {
  const auto rank = static_cast<int64_t>(x.rank());
  return g.between(-rank, rank - 1);
}

bool arg(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.dtype != DType::f32 || !x.is_exact) return false;
  g.node(fmt::format("{}({}) {{axis={}, keepdims={}, select_last_index={}}}", g.one_of({"ArgMax", "ArgMin"}),
                     x.name, signed_random_axis(g, x), g.below(2), g.below(2)));
  return true;
}

bool softmax(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.dtype != DType::f32) return false;
  g.node(fmt::format("{}({}) {{axis={}}}", g.one_of({"Softmax", "LogSoftmax"}), x.name,
                     signed_random_axis(g, x)));
  return true;
}

bool layer_normalization(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.dtype != DType::f32) return false;
  const int64_t axis =
      g.between(std::max<int64_t>(0, static_cast<int64_t>(x.rank()) - 2), static_cast<int64_t>(x.rank()) - 1);
  const SymbolicShape rest(x.shape.begin() + axis, x.shape.end());
  const std::string scale = g.input(DType::f32, rest), shift = g.input(DType::f32, rest);
  g.node(fmt::format("LayerNormalization({}, {}, {}) {{axis={}, epsilon=0.25}}", x.name, scale, shift, axis));
  return true;
}

bool normalization(OpenGraphWriter& g, const Written& x) {
  if (x.rank() < 3 || x.dtype != DType::f32 || !x.is_number(1)) return false;
  const int64_t channels = x.shape[1].number();
  const std::string scale = g.weights({channels}), shift = g.weights({channels});
  if (g.version() >= 21 && channels % 2 == 0 && g.chance(50))
    g.node(
        fmt::format("GroupNormalization({}, {}, {}) {{num_groups=2, epsilon=0.25}}", x.name, scale, shift));
  else
    g.node(fmt::format("InstanceNormalization({}, {}, {}) {{epsilon=0.25}}", x.name, scale, shift));
  return true;
}

/// Normalizes by statistics that are given, or along some axes.
bool other_normalization(OpenGraphWriter& g, const Written& x) {
  if (x.rank() < 2 || x.dtype != DType::f32) return false;
  const auto rank = static_cast<int64_t>(x.rank());
  if (x.is_number(1) && g.chance(50)) {
    std::vector<std::string> vectors;
    for (int i = 0; i < 4; ++i) vectors.push_back(g.weights({x.shape[1].number()}));
    g.node(fmt::format("BatchNormalization({}, {}) {{epsilon=0.25}}", x.name, fmt::join(vectors, ", ")));
  } else {
    g.node(fmt::format("LpNormalization({}) {{axis={}, p={}}}", x.name, g.between(-rank, rank - 1),
                       g.between(1, 2)));
  }
  return true;
}

bool scan(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.dtype == DType::boolean) return false;
  const std::string axis = g.scalar(signed_random_axis(g, x));
  const char* op = g.chance(50) ? "CumSum" : "CumProd";
  g.node(fmt::format("{}({}, {}) {{exclusive={}, reverse={}}}", op, x.name, axis, g.below(2), g.below(2)));
  return true;
}

bool matmul(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.dtype != DType::f32) return false;
  const size_t last = x.rank() - 1;
  if (x.is_number(last) && g.chance(50)) {
    const std::string w = g.weights({x.shape[last].number(), g.one_of<int64_t>({1, 3, 8, 16, 20, 37})});
    const std::string made = g.node(fmt::format("MatMul({}, {})", x.name, w));
    if (g.chance(40)) g.node(fmt::format("Relu({})", made));
    return true;
  }
  if (x.rank() == 1 || g.chance(20)) {
    const std::string other = g.value(DType::f32, {x.shape[last], g.random_size()});
    g.node(fmt::format("MatMul({}, {})", x.name, other));
    return true;
  }
  SymbolicShape shape = x.shape;
  for (size_t i = 0; i + 2 < shape.size(); ++i)
    if (g.chance(20)) shape[i] = 1;
  shape[last - 1] = x.shape[last];
  shape[last] = g.chance(30) ? x.shape[last - 1] : g.random_size();
  if (g.chance(40)) {
    std::swap(shape[last], shape[last - 1]);
    std::vector<int64_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::swap(order[last], order[last - 1]);
    const std::string turned =
        g.node(fmt::format("Transpose({}) {{perm={}}}", g.value(DType::f32, shape), list(order)));
    g.node(fmt::format("MatMul({}, {})", x.name, turned));
  } else {
    g.node(fmt::format("MatMul({}, {})", x.name, g.value(DType::f32, shape)));
  }
  return true;
}

bool gemm(OpenGraphWriter& g, const Written& x) {
  if (x.rank() != 2 || x.dtype != DType::f32) return false;
  const int64_t turns_a = g.below(2), turns_b = g.below(2);
  const Dim rows = x.shape[turns_a == 1 ? 1 : 0], depth = x.shape[turns_a == 1 ? 0 : 1],
            columns = g.random_size();
  const SymbolicShape b = turns_b == 1 ? SymbolicShape{columns, depth} : SymbolicShape{depth, columns};
  const std::string other = g.value(DType::f32, b),
                    bias = g.value(DType::f32, broadcasting(g, {rows, columns}));
  g.node(fmt::format("Gemm({}, {}, {}) {{transA={}, transB={}, alpha=0.5, beta={}}}", x.name, other, bias,
                     turns_a, turns_b, g.one_of({"1.0", "0.25"})));
  return true;
}

/// Attention of queries x over keys of another length, with a mask or without.
bool attention(OpenGraphWriter& g, const Written& x) {
  if (x.rank() < 3 || x.rank() > 4 || x.dtype != DType::f32) return false;
  const size_t last = x.rank() - 1;
  const Dim length = g.chance(30) ? x.shape[last - 1] : g.random_size();
  SymbolicShape keys = x.shape, values = x.shape, mask = x.shape;
  keys[last - 1] = x.shape[last], keys[last] = length;
  values[last - 1] = length, values[last] = g.chance(60) ? x.shape[last] : g.random_size();
  mask[last] = length;
  std::string scores = g.node(fmt::format("MatMul({}, {})", x.name, g.value(DType::f32, keys)));
  if (g.chance(40)) {
    for (Dim& size : mask)
      if (g.chance(40)) size = 1;
    scores = g.node(fmt::format("Add({}, {})", scores, g.value(DType::f32, mask)));
  }
  const std::string weights = g.node(fmt::format("Softmax({})", scores));
  g.node(fmt::format("MatMul({}, {})", weights, g.value(DType::f32, values)));
  return true;
}

bool recurrence(OpenGraphWriter& g, const Written& x) {
  if (x.rank() != 3 || x.dtype != DType::f32 || !x.is_number(2)) return false;
  const std::string op = g.one_of({"LSTM", "GRU", "RNN"}),
                    direction = g.one_of({"forward", "reverse", "bidirectional"});
  const int64_t gates = op == "LSTM"  ? 4
                        : op == "GRU" ? 3
                                      : 1,
                directions = direction == "bidirectional" ? 2 : 1,
                units = g.one_of<int64_t>({1, 5, 8, 16, 20}), layout = g.chance(30) ? 1 : 0;
  const Dim batch = x.shape[layout == 1 ? 0 : 1], steps = x.shape[layout == 1 ? 1 : 0];
  const std::string w = g.weights({directions, gates * units, x.shape[2].number()}),
                    r = g.weights({directions, gates * units, units});
  const std::string b = g.chance(60) ? g.weights({directions, 2 * gates * units}) : "_";
  const std::string lengths = g.chance(30) ? g.input(DType::i32, {batch}, steps + 1) : "_";
  const SymbolicShape states =
      layout == 1 ? SymbolicShape{batch, directions, units} : SymbolicShape{directions, batch, units};
  const std::string initial = g.chance(40) ? g.value(DType::f32, states) : "_";
  const std::string reset = op == "GRU" ? fmt::format(", linear_before_reset={}", g.below(2)) : "";
  g.nodes(fmt::format("{}({}, {}, {}, {}, {}, {}) {{hidden_size={}, direction=\"{}\", layout={}{}}}", op,
                      x.name, w, r, b, lengths, initial, units, direction, layout, reset),
          op == "LSTM" ? 3 : 2);
  return true;
}

constexpr std::array computations = std::to_array<RandomOperator>({
    {"Unary", 8, unary},
    {"Binary", 14, binary},
    {"Div", 2, divide},
    {"Compare", 4, compare},
    {"PRelu", 2, activation},
    {"Where", 4, where},
    {"Logic", 4, logic},
    {"Cast", 4, cast},
    {"Clip", 1, clip},
    {"Reduce", 12, reduce},
    {"Arg", 4, arg},
    {"Softmax", 6, softmax},
    {"LayerNormalization", 5, layer_normalization},
    {"Normalization", 3, normalization},
    {"Other normalization", 3, other_normalization},
    {"CumSum", 5, scan},
    {"MatMul", 12, matmul},
    {"Gemm", 5, gemm},
    {"Attention", 4, attention},
    {"Recurrence", 3, recurrence},
});

}  // namespace

std::span<const RandomOperator> random_computations() { return computations; }

}  // namespace intarsia::test
