// Operators of random graphs that move elements, or find them by index.
#include <algorithm>
#include <array>

#include "tests/support/open_graph_writer.h"

namespace intarsia::test {
namespace {

constexpr int64_t far = 9223372036854775807;

size_t random_axis(OpenGraphWriter& g, const Written& x) {
  return static_cast<size_t>(g.below(static_cast<int64_t>(x.rank())));
}

/// Returns the axis, or the same counted from the end.
int64_t signed_axis(OpenGraphWriter& g, const Written& x, size_t axis) {
  return static_cast<int64_t>(axis) - (g.chance(50) ? static_cast<int64_t>(x.rank()) : 0);
}

bool transpose(OpenGraphWriter& g, const Written& x) {
  if (x.rank() < 2) return false;
  g.node(fmt::format("Transpose({}) {{perm={}}}", x.name, list(g.random_order(x.rank()))));
  return true;
}

/// Joins neighboring axes or splits one, with 0 for an axis that stays and at most one -1.
bool reshape(OpenGraphWriter& g, const Written& x) {
  std::vector<int64_t> to;
  bool is_rest_taken = false;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool joins = i + 1 < x.rank() && !is_rest_taken && g.chance(40);
    if (joins) {
      to.push_back(-1);
      is_rest_taken = true;
      i += static_cast<size_t>(g.below(static_cast<int64_t>(x.rank() - i - 1)) + 1);
    } else if (i == to.size() && g.chance(60)) {
      to.push_back(0);
    } else if (x.is_number(i)) {
      const int64_t size = x.shape[i].number(), part = g.one_of<int64_t>({1, 2, 3, 4});
      if (part > 1 && size % part == 0 && g.chance(50)) to.push_back(part);
      to.push_back(to.empty() || part == 1 || size % part != 0 || to.back() != part ? size : size / part);
    } else if (!is_rest_taken) {
      const int64_t part = g.one_of<int64_t>({1, 1, 2});
      if (part == 2) to.push_back(2);
      to.push_back(-1);
      is_rest_taken = true;
    } else {
      return false;
    }
  }
  const std::string shape = g.ints(to);
  g.node(fmt::format("Reshape({}, {})", x.name, shape));
  return true;
}

/// Reshapes to sizes that are computed from Shape. A size of 0 beside a -1 is that of the same axis.
bool computed_reshape(OpenGraphWriter& g, const Written& x) {
  if (x.rank() < 2) return false;
  const auto rank = static_cast<int64_t>(x.rank());
  const bool has_rest = g.chance(40);
  const int64_t joined = has_rest ? rank - 2 : g.below(rank - 1);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != joined) {
      parts.push_back(g.size_of(x, i));
      continue;
    }
    ++i;  // the next axis, too
    if (has_rest) {
      parts.push_back(g.ints({-1}));
    } else {
      const std::string first = g.size_of(x, joined), second = g.size_of(x, i);
      parts.push_back(g.node(fmt::format("Mul({}, {})", first, second)));
    }
  }
  if (!has_rest && g.chance(30)) parts.insert(parts.begin() + g.below(std::ssize(parts) + 1), g.ints({1}));
  const std::string shape = g.node(fmt::format("Concat({}) {{axis=0}}", fmt::join(parts, ", ")));
  g.node(fmt::format("Reshape({}, {}) {{allowzero={}}}", x.name, shape, has_rest ? 0 : 1));
  return true;
}

bool squeeze(OpenGraphWriter& g, const Written& x) {
  const auto one = std::ranges::find(x.shape, Dim(1));
  if (one != x.shape.end() && g.chance(60)) {
    const std::string axes = g.ints({one - x.shape.begin()});
    g.node(fmt::format("Squeeze({}, {})", x.name, axes));
  } else {
    const std::string axes = g.ints({g.below(static_cast<int64_t>(x.rank()) + 1)});
    g.node(fmt::format("Unsqueeze({}, {})", x.name, axes));
  }
  return true;
}

bool flatten(OpenGraphWriter& g, const Written& x) {
  g.node(fmt::format("Flatten({}) {{axis={}}}", x.name, g.below(static_cast<int64_t>(x.rank()) + 1)));
  return true;
}

bool slice(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  std::vector<int64_t> starts, ends, axes, steps;
  for (int64_t axis : g.random_order(x.rank())) {
    if (!axes.empty() && g.chance(50)) continue;
    const int64_t step = g.one_of<int64_t>({1, 1, 1, 1, 2, 3, -1, -2});
    axes.push_back(g.chance(50) ? axis : axis - static_cast<int64_t>(x.rank()));
    steps.push_back(step);
    starts.push_back(step > 0 ? g.one_of<int64_t>({0, 0, 1, 2, -1, -2, -5, 7})
                              : g.one_of<int64_t>({-1, -1, -2, 3, 0, far, 8}));
    ends.push_back(step > 0 ? g.one_of<int64_t>({far, far, -1, -2, 3, 8, 2147483647})
                            : g.one_of<int64_t>({-far - 1, -far, 0, 1, -4}));
  }
  const std::string s = g.ints(starts), e = g.ints(ends), a = g.ints(axes), t = g.ints(steps);
  g.node(fmt::format("Slice({}, {}, {}, {}, {})", x.name, s, e, a, t));
  return true;
}

/// Slices from or to the size of an axis, or half of it.
bool computed_slice(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const auto axis = random_axis(g, x), other = random_axis(g, x);
  std::string size = g.size_of(x, static_cast<int64_t>(other));
  const std::string number = g.ints({g.between(1, 3)});
  size = g.node(fmt::format("{}({}, {})", g.one_of({"Div", "Sub", "Add", "Mul", "Min"}), size, number));
  const std::string zero = g.ints({g.below(2)}), end = g.ints({far});
  const std::string axes = g.ints({signed_axis(g, x, axis)});
  if (g.chance(50))
    g.node(fmt::format("Slice({}, {}, {}, {})", x.name, zero, size, axes));
  else
    g.node(fmt::format("Slice({}, {}, {}, {})", x.name, size, end, axes));
  return true;
}

bool split(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const auto axis = random_axis(g, x);
  std::string parts;
  if (x.is_number(axis)) {
    const int64_t size = x.shape[axis].number(), first = g.between(1, size);
    if (size < 2) return false;
    parts = g.ints({std::min(first, size - 1), size - std::min(first, size - 1)});
  } else {
    const std::string size = g.size_of(x, static_cast<int64_t>(axis)), first = g.ints({g.between(1, 2)});
    const std::string part = g.chance(50) ? g.node(fmt::format("Div({}, {})", size, first)) : first;
    const std::string rest = g.node(fmt::format("Sub({}, {})", size, part));
    parts = g.node(fmt::format("Concat({}, {}) {{axis=0}}", part, rest));
  }
  g.nodes(fmt::format("Split({}, {}) {{axis={}}}", x.name, parts, signed_axis(g, x, axis)), 2);
  return true;
}

/// Splits into equal parts.
bool equal_split(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const auto axis = random_axis(g, x);
  const std::string count = g.version() >= 18 ? ", num_outputs=2" : "";
  g.nodes(fmt::format("Split({}) {{axis={}{}}}", x.name, signed_axis(g, x, axis), count), 2);
  return true;
}

bool expand(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.rank() > 4) return false;
  SymbolicShape shape = x.shape;
  for (Dim& size : shape)
    if (g.chance(40)) size = size == 1 ? g.random_size() : Dim(1);
  if (g.chance(30)) shape.insert(shape.begin(), g.random_size());
  Written other{g.value(DType::f32, shape), DType::f32, shape};
  const std::string to = g.node(fmt::format("Shape({})", other.name));
  g.node(fmt::format("Expand({}, {})", x.name, to));
  return true;
}

bool tile(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  std::vector<int64_t> repeats;
  for (size_t i = 0; i < x.rank(); ++i) repeats.push_back(g.one_of<int64_t>({1, 1, 2, 3}));
  const std::string times = g.ints(repeats);
  g.node(fmt::format("Tile({}, {})", x.name, times));
  return true;
}

bool concat(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const auto axis = random_axis(g, x);
  std::vector<std::string> parts{x.name};
  for (int64_t i = g.between(1, 2); i > 0; --i) {
    SymbolicShape shape = x.shape;
    if (g.chance(60)) shape[axis] = g.random_size();
    parts.insert(parts.begin() + g.below(std::ssize(parts) + 1), g.value(x.dtype, shape));
  }
  g.node(fmt::format("Concat({}) {{axis={}}}", fmt::join(parts, ", "), signed_axis(g, x, axis)));
  return true;
}

bool pad(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.dtype != DType::f32) return false;
  std::vector<int64_t> pads(2 * x.rank(), 0);
  for (int64_t& one : pads)
    if (g.chance(50)) one = g.one_of<int64_t>({1, 2, 3, 1, -1});
  const std::string mode =
      g.one_of({"constant", "constant", "edge", "reflect", g.version() >= 19 ? "wrap" : "edge"});
  const std::string given = g.ints(pads);
  g.node(fmt::format("Pad({}, {}) {{mode=\"{}\"}}", x.name, given, mode));
  return true;
}

bool depth_to_space(OpenGraphWriter& g, const Written& x) {
  if (x.rank() != 4 || !x.is_number(1) || x.shape[1].number() % 4 != 0) return false;
  g.node(fmt::format("DepthToSpace({}) {{blocksize=2, mode=\"{}\"}}", x.name, g.one_of({"DCR", "CRD"})));
  return true;
}

bool space_to_depth(OpenGraphWriter& g, const Written& x) {
  if (x.rank() != 4) return false;
  g.node(fmt::format("SpaceToDepth({}) {{blocksize=2}}", x.name));
  return true;
}

SymbolicShape random_shape(OpenGraphWriter& g, int64_t least, int64_t most) {
  SymbolicShape shape;
  for (int64_t i = g.between(least, most); i > 0; --i) shape.push_back(g.random_size());
  return shape;
}

bool gather(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || x.rank() > 4) return false;
  const auto axis = random_axis(g, x);
  const DType dtype = g.one_of({DType::i64, DType::i64, DType::i32});
  const std::string indices = g.input(dtype, random_shape(g, 0, 2), x.shape[axis]);
  g.node(fmt::format("Gather({}, {}) {{axis={}}}", x.name, indices, signed_axis(g, x, axis)));
  return true;
}

bool gather_elements(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const auto axis = random_axis(g, x);
  SymbolicShape shape = x.shape;
  shape[axis] = g.random_size();
  const std::string indices = g.input(DType::i64, shape, x.shape[axis]);
  g.node(fmt::format("GatherElements({}, {}) {{axis={}}}", x.name, indices, signed_axis(g, x, axis)));
  return true;
}

bool gather_nd(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  SymbolicShape shape = random_shape(g, 0, 1);
  shape.emplace_back(1);
  const std::string indices = g.input(DType::i64, shape, x.shape[0]);
  g.node(fmt::format("GatherND({}, {})", x.name, indices));
  return true;
}

bool trilu(OpenGraphWriter& g, const Written& x) {
  if (x.rank() < 2) return false;
  const std::string k = g.scalar(g.between(-2, 3));
  g.node(fmt::format("Trilu({}, {}) {{upper={}}}", x.name, k, g.below(2)));
  return true;
}

bool one_hot(OpenGraphWriter& g, const Written& x) {
  const std::string indices = g.input(DType::i64, x.shape, Dim(9)), depth = g.scalar(g.between(2, 7)),
                    values = g.floats({-1.0F, 2.0F});
  if (x.rank() > 3) return false;
  g.node(fmt::format("OneHot({}, {}, {}) {{axis={}}}", indices, depth, values,
                     g.between(-1, static_cast<int64_t>(x.rank()))));
  return true;
}

bool shapes(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const std::string size = g.node(fmt::format("{}({})", g.one_of({"Shape", "Size"}), x.name));
  const std::string number = g.ints({g.between(1, 3)});
  g.node(fmt::format("{}({}, {})", g.one_of({"Add", "Sub", "Mul", "Div", "Mod", "Max"}), size, number));
  return true;
}

/// Counts to a size, and uses the numbers as positions or values.
bool range(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const std::string size = g.size_of(x, static_cast<int64_t>(random_axis(g, x)));
  const std::string end = g.node(fmt::format("Squeeze({})", size));
  const std::string start = g.scalar(g.between(-1, 2)), step = g.scalar(g.between(1, 2));
  const std::string made = g.chance(70) ? g.node(fmt::format("Range({}, {}, {})", start, end, step))
                                        : g.node(fmt::format("Range({}, {}, {})", end, start, g.scalar(-1)));
  if (g.chance(60)) g.node(fmt::format("Cast({}) {{to=1}}", made));
  return true;
}

bool fill(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const std::string shape = g.node(fmt::format("Shape({})", x.name));
  const std::string zeros = g.node(fmt::format("ConstantOfShape({})", shape));
  if (x.dtype == DType::f32) g.node(fmt::format("Sub({}, {})", zeros, x.name));
  return true;
}

constexpr std::array movements = std::to_array<RandomOperator>({
    {"Transpose", 8, transpose},
    {"Reshape", 10, reshape},
    {"Reshape by sizes", 6, computed_reshape},
    {"Squeeze", 3, squeeze},
    {"Flatten", 3, flatten},
    {"Slice", 10, slice},
    {"Slice by sizes", 5, computed_slice},
    {"Split", 5, split},
    {"Split evenly", 3, equal_split},
    {"Expand", 5, expand},
    {"Tile", 4, tile},
    {"Concat", 8, concat},
    {"Pad", 8, pad},
    {"DepthToSpace", 4, depth_to_space},
    {"SpaceToDepth", 2, space_to_depth},
    {"Gather", 5, gather},
    {"GatherElements", 4, gather_elements},
    {"GatherND", 2, gather_nd},
    {"Trilu", 3, trilu},
    {"OneHot", 2, one_hot},
    {"Shape", 2, shapes},
    {"Range", 2, range},
    {"ConstantOfShape", 2, fill},
});

}  // namespace

std::span<const RandomOperator> random_movements() { return movements; }

}  // namespace intarsia::test
