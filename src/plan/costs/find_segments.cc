#include "plan/costs/find_segments.h"

#include <algorithm>
#include <boost/dynamic_bitset.hpp>
#include <map>

#include "plan/partition/is_work.h"

namespace intarsia {
namespace {

/// Number of values that may always cross a cut.
constexpr size_t few_values = 2;
/// Number of nodes before and after a cut of more values within which no fewer may be alive.
constexpr size_t neighborhood = 16;
/// Limit of segments: more would be many times to measure and keep, for little gain.
constexpr size_t max_segments = 128;

/// Values that are made by a node or before it, and read after it.
struct Alive {
  size_t values = 0;
  int64_t bytes = 0;  // sum without values whose size is known only at run time
};

/// Returns the values that are alive after each node.
std::vector<Alive> find_alive(const Graph& graph) {
  const std::vector<std::vector<NodeId>> readers = find_readers(graph);
  std::vector<std::ptrdiff_t> values(graph.nodes.size() + 1, 0), bytes(graph.nodes.size() + 1, 0);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    if (value.constant || value.producer == no_node || readers[v].empty()) continue;
    const auto size = static_cast<std::ptrdiff_t>(graph.planned_bytes(ValueId(v)).value_or(0));
    const size_t first = index(value.producer), last = index(readers[v].back());
    ++values[first], bytes[first] += size;
    --values[last], bytes[last] -= size;
  }
  std::vector<Alive> alive;
  std::ptrdiff_t count = 0, size = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    alive.push_back({static_cast<size_t>(count += values[i]), size += bytes[i]});
  return alive;
}

bool is_narrow(const std::vector<Alive>& alive, size_t at) {
  if (alive[at].values <= few_values) return true;
  const size_t first = at < neighborhood ? 0 : at - neighborhood;
  const size_t last = std::min(alive.size(), at + neighborhood + 1);
  return std::ranges::all_of(std::span(alive).subspan(first, last - first),
                             [&](const Alive& other) { return alive[at].values <= other.values; });
}

/// Finds, among the nodes from `first` to `last`, the one with the fewest values alive before it, then the
/// fewest bytes, then the last one. So cuts fall between a quantization and the node that undoes it, and
/// before padding.
uint32_t find_narrowest(const std::vector<Alive>& alive, uint32_t first, uint32_t last) {
  const auto width = [&](uint32_t node) { return std::pair(alive[node - 1].values, alive[node - 1].bytes); };
  uint32_t narrowest = last;
  for (uint32_t i = last; i-- > first;)
    if (width(i) < width(narrowest)) narrowest = i;
  return narrowest;
}

using Bits = boost::dynamic_bitset<uint64_t>;

/// Returns, for each node, a bit set of the work nodes it depends on, itself included.
std::vector<Bits> find_work_before(const Graph& graph) {
  const auto work_count = static_cast<size_t>(std::ranges::count_if(graph.nodes, is_work));
  std::vector<Bits> before(graph.nodes.size(), Bits(work_count));
  size_t work = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i]))
      if (const NodeId producer = graph.value(read).producer; producer != no_node)
        before[i] |= before[index(producer)];
    if (is_work(graph.nodes[i])) before[i].set(work++);
  }
  return before;
}

/// Checks whether the node reads from two branches, each with work that the other does not depend on.
bool is_join(const Graph& graph, const Node& node, const std::vector<Bits>& work_before) {
  std::vector<const Bits*> read_work;
  for (ValueId read : values_read(node))
    if (const NodeId producer = graph.value(read).producer; producer != no_node)
      read_work.push_back(&work_before[index(producer)]);
  if (read_work.empty()) return false;
  const Bits& most =
      **std::ranges::max_element(read_work, {}, [](const Bits* work) { return work->count(); });
  return std::ranges::any_of(read_work, [&](const Bits* work) { return !work->is_subset_of(most); });
}

/// Finds the first nodes of segments, ascending.
std::vector<uint32_t> find_starts(const PlanningProblem& problem,
                                  const std::vector<std::vector<bool>>& may_run) {
  const Graph& graph = problem.graph;
  const std::vector<Alive> alive = find_alive(graph);
  const bool may_part = problem.slots.size() > 1;
  const std::vector<Bits> work_before = may_part ? find_work_before(graph) : std::vector<Bits>();
  std::vector<uint32_t> starts;
  uint32_t after_work = 0;  // node after the latest work of the segment so far; 0 if there is none
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (i == 0 || may_run[i] != may_run[i - 1]) {
      starts.push_back(i);
      after_work = 0;
    } else if (may_part && after_work > 0 && is_join(graph, graph.nodes[i], work_before)) {
      starts.push_back(i);
      after_work = 0;
    }
    if (!is_work(graph.nodes[i])) continue;
    if (after_work > 0) {
      const uint32_t start = find_narrowest(alive, after_work, i);
      if (is_narrow(alive, start - 1)) starts.push_back(start);
    }
    after_work = i + 1;
  }
  return starts;
}

/// Returns, for each node, whether a group has nodes before it, and it or a later node is of that group, too.
std::vector<bool> find_inside(size_t nodes, const std::vector<std::vector<size_t>>& groups) {
  std::vector<bool> is_inside(nodes, false);
  for (const std::vector<size_t>& group_of : groups) {
    std::map<size_t, size_t> last;  // last node of each group so far
    for (size_t node = 0; node < nodes; ++node) {
      if (group_of[node] == no_group) continue;
      const auto [at, is_first] = last.try_emplace(group_of[node], node);
      for (size_t inside = at->second + 1; inside <= node; ++inside) is_inside[inside] = true;
      at->second = node;
    }
  }
  return is_inside;
}

/// Drops every other cut between segments for the same targets.
std::vector<uint32_t> thin_out(const std::vector<uint32_t>& starts,
                               const std::vector<std::vector<bool>>& may_run) {
  std::vector<uint32_t> kept;
  bool was_dropped = false;
  for (uint32_t start : starts) {
    const bool is_needed = start == 0 || may_run[start] != may_run[start - 1];
    was_dropped = !is_needed && !was_dropped && !kept.empty();
    if (!was_dropped) kept.push_back(start);
  }
  return kept;
}

}  // namespace

Result<std::vector<std::vector<size_t>>> find_groups(const PlanningProblem& problem) {
  std::vector<std::vector<size_t>> groups;
  for (const PlacementTarget& target : problem.targets) {
    std::vector<size_t> some = TRY(target.backend->groups(problem.graph, target.device));
    if (!some.empty()) groups.push_back(std::move(some));
  }
  return groups;
}

std::vector<uint32_t> find_segments(const PlanningProblem& problem,
                                    const std::vector<std::vector<bool>>& may_run,
                                    const std::vector<std::vector<size_t>>& groups) {
  const Graph& graph = problem.graph;
  std::vector<uint32_t> starts = find_starts(problem, may_run);
  const std::vector<bool> is_inside = find_inside(graph.nodes.size(), groups);
  std::erase_if(starts, [&](uint32_t start) { return is_inside[start]; });
  while (starts.size() > max_segments) {
    std::vector<uint32_t> fewer = thin_out(starts, may_run);
    if (fewer.size() == starts.size()) break;
    starts = std::move(fewer);
  }
  std::vector<uint32_t> segment_of;
  size_t segment = 0;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (segment + 1 < starts.size() && starts[segment + 1] == i) ++segment;
    segment_of.push_back(starts[segment]);
  }
  return segment_of;
}

}  // namespace intarsia
