// Solution by maximum flow: Y. Boykov and V. Kolmogorov, "An experimental comparison of min-cut/max-flow
// algorithms for energy minimization in vision", 2004. Most vertices have an edge to the source or the sink
// here as they do there, which is what the algorithm is fast for.
#include "plan/place/minimum_cut.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

#include "target/timing.h"

namespace intarsia {
namespace {

using NetworkTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct Pipe {
  int64_t capacity = 0, residual = 0;
  NetworkTraits::edge_descriptor reverse;
};

using Network = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Pipe>;

void add_pipe(Network& network, size_t from, size_t to, int64_t capacity) {
  const auto there = boost::add_edge(from, to, network).first;
  const auto back = boost::add_edge(to, from, network).first;
  network[there].capacity = capacity;
  network[there].reverse = back;
  network[back].reverse = there;
}

/// Returns, for each vertex, whether it ends on the source's side.
std::vector<bool> find_source_side(Network& network, size_t source, size_t sink) {
  std::vector<boost::default_color_type> colors(boost::num_vertices(network));
  const auto indices = boost::get(boost::vertex_index, network);
  boost::boykov_kolmogorov_max_flow(network, boost::get(&Pipe::capacity, network),
                                    boost::get(&Pipe::residual, network), boost::get(&Pipe::reverse, network),
                                    boost::make_iterator_property_map(colors.begin(), indices), indices,
                                    source, sink);
  std::vector<bool> is_there;
  for (boost::default_color_type color : colors) is_there.push_back(color == boost::black_color);
  return is_there;
}

}  // namespace

uint32_t MinimumCut::add_vertex() {
  vertices_.emplace_back(0, 0);
  return static_cast<uint32_t>(vertices_.size() - 1);
}

void MinimumCut::add_cost(uint32_t vertex, int64_t on_first, int64_t on_second) {
  const auto add = [](int64_t& sum, int64_t cost) { sum = cost >= never - sum ? never : sum + cost; };
  add(vertices_[vertex].first, on_first);
  add(vertices_[vertex].second, on_second);
}

void MinimumCut::add_cost_between(uint32_t a, uint32_t b, int64_t cost) { edges_.push_back({a, b, cost}); }

std::vector<bool> MinimumCut::solve() const {
  const size_t count = vertices_.size(), source = count, sink = count + 1;
  const int64_t forbidden = (int64_t{1} << 62) / static_cast<int64_t>(count + 1);
  Network network(count + 2);
  for (size_t v = 0; v < count; ++v) {
    // Costs that both sides share do not matter.
    const int64_t on_first = std::min(vertices_[v].first, forbidden);
    const int64_t on_second = std::min(vertices_[v].second, forbidden);
    if (on_second > on_first) add_pipe(network, source, v, on_second - on_first);
    if (on_first > on_second) add_pipe(network, v, sink, on_first - on_second);
  }
  for (const Edge& edge : edges_) add_pipe(network, edge.from, edge.to, std::min(edge.cost, forbidden));
  std::vector<bool> is_first = find_source_side(network, source, sink);
  is_first.resize(count);
  return is_first;
}

}  // namespace intarsia
