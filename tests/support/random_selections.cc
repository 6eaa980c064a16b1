// Operators of random graphs that choose elements, or put them at places that data names.
#include <algorithm>
#include <array>

#include "tests/support/open_graph_writer.h"

namespace intarsia::test {
namespace {

size_t any_axis(OpenGraphWriter& g, const Written& x) {
  return static_cast<size_t>(g.below(static_cast<int64_t>(x.rank())));
}

/// Chooses among elements that rounding does not move past one another.
bool top_k(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0 || !x.is_exact || x.dtype == DType::boolean) return false;
  const size_t axis = any_axis(g, x);
  const std::string k =
      g.ints({g.between(1, x.is_number(axis) ? std::min<int64_t>(x.shape[axis].number(), 20) : 2)});
  g.nodes(fmt::format("TopK({}, {}) {{axis={}, largest={}}}", x.name, k, axis, g.below(2)), 2);
  return true;
}

std::string random_update(OpenGraphWriter& g, const Written& x) {
  if (x.dtype == DType::boolean) return "none";
  return g.version() < 18 ? g.one_of({"none", "add", "mul"}) : g.one_of({"none", "add", "mul", "max", "min"});
}

bool scatter_elements(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const size_t axis = any_axis(g, x);
  SymbolicShape shape = x.shape;
  shape[axis] = g.random_size();
  const std::string indices = g.input(DType::i64, shape, x.shape[axis]), updates = g.value(x.dtype, shape);
  g.node(fmt::format("ScatterElements({}, {}, {}) {{axis={}, reduction=\"{}\"}}", x.name, indices, updates,
                     axis, random_update(g, x)));
  return true;
}

bool scatter_nd(OpenGraphWriter& g, const Written& x) {
  if (x.rank() == 0) return false;
  const Dim updates = g.random_size();
  SymbolicShape shape = x.shape;
  shape[0] = updates;
  const std::string indices = g.input(DType::i64, {updates, 1}, x.shape[0]), by = g.value(x.dtype, shape);
  g.node(fmt::format("ScatterND({}, {}, {}) {{reduction=\"{}\"}}", x.name, indices, by, random_update(g, x)));
  return true;
}

/// Samples a picture; not at the nearest pixel, where rounding decides.
bool grid_sample(OpenGraphWriter& g, const Written& x) {
  if (x.rank() != 4 || x.dtype != DType::f32) return false;
  const std::string grid = g.value(DType::f32, {x.shape[0], g.random_size(), g.random_size(), 2});
  const bool is_new = g.version() >= 20;
  const std::string mode = is_new ? g.one_of({"linear", "cubic"}) : g.one_of({"bilinear", "bicubic"});
  g.node(fmt::format("GridSample({}, {}) {{mode=\"{}\", padding_mode=\"{}\", align_corners={}}}", x.name,
                     grid, mode, g.one_of({"zeros", "border", "reflection"}), g.below(2)));
  return true;
}

constexpr std::array selections = std::to_array<RandomOperator>({
    {"TopK", 5, top_k},
    {"ScatterElements", 5, scatter_elements},
    {"ScatterND", 5, scatter_nd},
    {"GridSample", 5, grid_sample},
});

}  // namespace

std::span<const RandomOperator> random_selections() { return selections; }

}  // namespace intarsia::test
