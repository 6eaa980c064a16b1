#include "backends/halide/memory/order_calls.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/core/core_attributes.h"
#include "backends/halide/memory/choose_in_place.h"
#include "backends/halide/memory/plan_workspace.h"

namespace intarsia::halide {
namespace {

/// Limit of sets of calls that the exact search looks at: branches multiply them.
constexpr size_t max_states = 1 << 14;

using Order = std::vector<size_t>;

/// Calls as nodes of a graph, with the memory that they share.
struct CallGraph {
  struct Root {
    size_t bytes = 0;
    std::vector<size_t> calls;  // calls that read or write it
  };
  std::vector<std::vector<size_t>> before, after;  // calls that a call waits for, or that wait for it
  std::vector<std::vector<size_t>> roots;  // numbers of the roots in the workspace that a call touches
  std::vector<Root> memory;
};

/// Checks whether the calls must keep their order: one writes what the other reads or writes. Values that
/// differ are parts of memory apart.
bool are_ordered(const Layouts& layouts, const Call& first, const Call& second) {
  const auto root = [&](ValueId value) { return layouts.storage[index(value)].root; };
  const auto reads = [&](const Call& call, ValueId written) {
    return std::ranges::any_of(call.inputs, [&](ValueId input) { return root(input) == written; });
  };
  if (reads(second, root(first.output)) || reads(first, root(second.output))) return true;
  const bool is_whole = first.walks.empty() && second.walks.empty() && first.output != second.output;
  return root(first.output) == root(second.output) && !is_whole;
}

CallGraph make_call_graph(const Layouts& layouts, const std::vector<Call>& calls) {
  CallGraph graph;
  graph.before.resize(calls.size()), graph.after.resize(calls.size()), graph.roots.resize(calls.size());
  for (size_t later = 0; later < calls.size(); ++later)
    for (size_t earlier = 0; earlier < later; ++earlier)
      if (are_ordered(layouts, calls[earlier], calls[later])) {
        graph.before[later].push_back(earlier);
        graph.after[earlier].push_back(later);
      }
  std::map<ValueId, size_t> numbers;
  for (const auto& [root, lifetime] : find_lifetimes(layouts, calls)) {
    numbers[root] = graph.memory.size();
    graph.memory.push_back({lifetime.bytes, {}});
  }
  for (size_t c = 0; c < calls.size(); ++c) {
    std::set<size_t> touched;
    std::vector<ValueId> values = calls[c].inputs;
    values.push_back(calls[c].output);
    for (ValueId value : values)
      if (const auto at = numbers.find(layouts.storage[index(value)].root); at != numbers.end())
        touched.insert(at->second);
    graph.roots[c].assign(touched.begin(), touched.end());
    for (size_t root : touched) graph.memory[root].calls.push_back(c);
  }
  return graph;
}

/// Set of calls that have run.
class PartialRun {
 public:
  explicit PartialRun(const CallGraph& graph) : graph_(&graph), done_(graph.before.size(), false) {}

  const std::vector<bool>& done() const { return done_; }
  size_t alive() const { return alive_; }
  bool is_ready(size_t call) const {
    return !done_[call] &&
           std::ranges::all_of(graph_->before[call], [&](size_t other) { return done_[other]; });
  }

  /// Runs the call and returns the bytes that are alive during it.
  size_t run(size_t call) {
    for (size_t root : graph_->roots[call])
      if (!is_touched(root)) alive_ += graph_->memory[root].bytes;
    const size_t during = alive_;
    done_[call] = true;
    for (size_t root : graph_->roots[call])
      if (is_over(root)) alive_ -= graph_->memory[root].bytes;
    return during;
  }

 private:
  bool is_touched(size_t root) const {
    return std::ranges::any_of(graph_->memory[root].calls, [&](size_t call) { return done_[call]; });
  }
  bool is_over(size_t root) const {
    return std::ranges::all_of(graph_->memory[root].calls, [&](size_t call) { return done_[call]; });
  }

  const CallGraph* graph_;
  std::vector<bool> done_;
  size_t alive_ = 0;
};

/// Search of the order whose peak is least, by the sets of calls that can have run: the set that is reached
/// with the least peak is extended first.
class OrderSearch {
 public:
  explicit OrderSearch(const CallGraph& graph) : graph_(graph) {}

  /// Returns the order; empty if there are too many sets.
  Order run() {
    add({0, 0, 0, 0, PartialRun(graph_)});
    while (!queue_.empty() && steps_.size() < max_states) {
      const size_t number = queue_.top().number;
      queue_.pop();
      if (steps_[number].length == graph_.before.size()) return order_of(number);
      extend(number);
    }
    return {};
  }

 private:
  struct Step {
    size_t peak = 0;
    size_t length = 0;    // calls that have run
    size_t previous = 0;  // number of a step
    size_t call = 0;
    PartialRun run;
  };
  /// Place in the queue: the least peak first, and of these the most calls.
  struct Place {
    size_t peak, left, number;
    auto operator<=>(const Place&) const = default;
  };

  void add(Step step) {
    queue_.push({step.peak, graph_.before.size() - step.length, steps_.size()});
    steps_.push_back(std::move(step));
  }

  void extend(size_t number) {
    for (size_t call = 0; call < graph_.before.size(); ++call) {
      if (!steps_[number].run.is_ready(call)) continue;
      Step next = steps_[number];
      next.peak = std::max(next.peak, next.run.run(call));
      const auto [known, is_new] = least_.try_emplace(next.run.done(), next.peak);
      if (!is_new && known->second <= next.peak) continue;
      known->second = next.peak;
      ++next.length, next.previous = number, next.call = call;
      add(std::move(next));
    }
  }

  Order order_of(size_t number) const {
    Order order;
    for (; steps_[number].length > 0; number = steps_[number].previous) order.push_back(steps_[number].call);
    std::ranges::reverse(order);
    return order;
  }

  const CallGraph& graph_;
  std::vector<Step> steps_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> queue_;
  std::unordered_map<std::vector<bool>, size_t> least_;  // peak of the best way to a set of calls
};

/// Returns the order in which each call is, of those that can run, the one after which least is alive.
Order find_greedy_order(const CallGraph& graph) {
  PartialRun run(graph);
  Order order;
  while (order.size() < graph.before.size()) {
    std::tuple<size_t, size_t, size_t> best(~size_t{0}, 0, 0);
    for (size_t call = 0; call < graph.before.size(); ++call) {
      if (!run.is_ready(call)) continue;
      PartialRun next = run;
      const size_t during = next.run(call);
      best = std::min(best, std::tuple(next.alive(), during, call));
    }
    order.push_back(std::get<2>(best));
    run.run(order.back());
  }
  return order;
}

/// Returns the bytes that some call needs for itself, in any order.
size_t least_peak(const CallGraph& graph) {
  size_t most = 0;
  for (const std::vector<size_t>& roots : graph.roots) {
    size_t bytes = 0;
    for (size_t root : roots) bytes += graph.memory[root].bytes;
    most = std::max(most, bytes);
  }
  return most;
}

/// Returns the bytes that the calls need in this order, which they have afterward.
size_t reorder(const Layouts& layouts, std::vector<Call>& calls, const Order& order) {
  std::vector<Call> ordered;
  for (size_t call : order) ordered.push_back(std::move(calls[call]));
  calls = std::move(ordered);
  choose_in_place(layouts, calls);
  return plan_workspace(layouts, calls).bytes;
}

}  // namespace

void order_calls(const Layouts& layouts, std::vector<Call>& calls) {
  if (is_bound_by_runs(layouts.graph)) return;
  choose_in_place(layouts, calls);
  if (has_counted_outputs(layouts.graph) || calls.empty()) return;
  const size_t before = plan_workspace(layouts, calls).bytes;
  const CallGraph graph = make_call_graph(layouts, calls);
  if (find_live_peak(layouts, calls).bytes <= least_peak(graph)) return;
  Order order = OrderSearch(graph).run();
  if (order.empty()) order = find_greedy_order(graph);
  if (std::ranges::is_sorted(order) || reorder(layouts, calls, order) < before) return;
  Order back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = i;
  reorder(layouts, calls, back);
}

}  // namespace intarsia::halide
