#include "plan/partition/directed_graph.h"

#include <algorithm>

namespace intarsia {
namespace {

constexpr uint32_t unseen = 0xffffffff;

class Tarjan {
 public:
  explicit Tarjan(const Neighbors& next)
      : next_(next), number_(next.size(), unseen), reaches_(next.size()), component_(next.size(), unseen) {}

  std::vector<uint32_t> run() {
    for (uint32_t vertex = 0; vertex < next_.size(); ++vertex) {
      if (number_[vertex] == unseen) search(vertex);
    }
    return std::move(component_);
  }

 private:
  struct Visit {
    uint32_t vertex;
    size_t edge = 0;  // next one to follow
  };

  void search(uint32_t start) {
    enter(start);
    while (!visits_.empty()) {
      Visit& visit = visits_.back();
      if (visit.edge < next_[visit.vertex].size()) {
        follow(visit.vertex, next_[visit.vertex][visit.edge++]);
      } else {
        const uint32_t vertex = visit.vertex;
        visits_.pop_back();
        leave(vertex);
      }
    }
  }

  void enter(uint32_t vertex) {
    number_[vertex] = reaches_[vertex] = count_++;
    open_.push_back(vertex);
    visits_.push_back({vertex});
  }

  void follow(uint32_t from, uint32_t to) {
    if (number_[to] == unseen) {
      enter(to);
    } else if (component_[to] == unseen) {
      reaches_[from] = std::min(reaches_[from], number_[to]);
    }
  }

  void leave(uint32_t vertex) {
    if (!visits_.empty()) {
      uint32_t& parent = reaches_[visits_.back().vertex];
      parent = std::min(parent, reaches_[vertex]);
    }
    if (reaches_[vertex] != number_[vertex]) return;
    const auto first = std::find(open_.rbegin(), open_.rend(), vertex).base() - 1;
    const uint32_t lowest = *std::min_element(first, open_.end());
    for (auto at = first; at != open_.end(); ++at) component_[*at] = lowest;
    open_.erase(first, open_.end());
  }

  const Neighbors& next_;
  std::vector<uint32_t> number_;   // numbers in the order of the search
  std::vector<uint32_t> reaches_;  // lowest number that an open vertex is known to lead to
  std::vector<uint32_t> component_;
  std::vector<uint32_t> open_;  // seen, without a component yet
  std::vector<Visit> visits_;
  uint32_t count_ = 0;
};

}  // namespace

Neighbors reverse_edges(const Neighbors& next) {
  Neighbors previous(next.size());
  for (uint32_t v = 0; v < next.size(); ++v) {
    for (uint32_t to : next[v]) previous[to].push_back(v);
  }
  return previous;
}

std::vector<uint32_t> strong_components(const Neighbors& next) { return Tarjan(next).run(); }

}  // namespace intarsia
