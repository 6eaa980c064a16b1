#include "plan/partition/directed_graph.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

namespace intarsia {

Neighbors reverse_edges(const Neighbors& next) {
  Neighbors previous(next.size());
  for (uint32_t v = 0; v < next.size(); ++v) {
    for (uint32_t to : next[v]) previous[to].push_back(v);
  }
  return previous;
}

std::vector<uint32_t> strong_components(const Neighbors& next) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(next.size());
  for (uint32_t v = 0; v < next.size(); ++v) {
    for (uint32_t to : next[v]) boost::add_edge(v, to, graph);
  }
  std::vector<uint32_t> component(next.size());
  const uint32_t count = boost::strong_components(graph, component.data());
  std::vector<uint32_t> lowest(count, static_cast<uint32_t>(next.size()));
  for (uint32_t v = 0; v < next.size(); ++v) lowest[component[v]] = std::min(lowest[component[v]], v);
  for (uint32_t& vertex : component) vertex = lowest[vertex];
  return component;
}

}  // namespace intarsia
