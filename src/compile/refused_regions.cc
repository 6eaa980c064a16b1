#include "compile/refused_regions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "plan/partition/partition_graph.h"
#include "target/forwarding_target.h"

namespace intarsia {
namespace {

constexpr int most_tries = 24;  // limit on compiles for one region: a vendor's compiler may take minutes

}  // namespace

/// A plug-in's target, without the nodes it refused.
class RefusedRegions::Guard : public ForwardingTarget {
 public:
  explicit Guard(const Target& target) : ForwardingTarget(target) {}

  bool guards(const Target* target) const { return target == &target_; }
  void leave_out(const std::string& device, NodeId node, const std::string& why) {
    left_out_[device].emplace(node, why);
  }
  bool leaves_out(const std::string& device, NodeId node) const {
    const auto on_device = left_out_.find(device);
    return on_device != left_out_.end() && on_device->second.contains(node);
  }
  void leave_out_all() { leaves_out_all_ = true; }

  Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const override {
    if (leaves_out_all_) return Support::refused("its compiler refused too many regions");
    if (const auto on_device = left_out_.find(device.name); on_device != left_out_.end()) {
      if (const auto known = on_device->second.find(node); known != on_device->second.end())
        return Support::refused("its compiler refused a region with it: " + known->second);
    }
    return target_.supports(graph, node, device);
  }
  /// Falls back to no groups on an error: such a plan is still correct.
  Result<std::vector<size_t>> groups(const Graph& graph, const TargetDevice& device) const override {
    Result<std::vector<size_t>> groups = target_.groups(graph, device);
    if (groups) return groups;
    notes_.insert(groups.error().message + "; its nodes move one by one");
    return std::vector<size_t>();
  }
  const std::set<std::string>& notes() const { return notes_; }

 private:
  std::map<std::string, std::map<NodeId, std::string>> left_out_;  // nodes and reasons, by device name
  bool leaves_out_all_ = false;
  mutable std::set<std::string> notes_;
};

namespace {

/// Search for the nodes of a region that are at fault, by compiling parts of it.
class FaultSearch {
 public:
  FaultSearch(const Graph& graph, const Partition& partition, size_t region,
              const RefusedRegions::TryRegion& compiles)
      : graph_(graph), partition_(partition), region_(region), compiles_(compiles) {}

  /// Finds the nodes after the longest prefix of the region that compiles.
  std::vector<NodeId> find_too_much() {
    const std::vector<NodeId>& nodes = partition_.regions[region_].nodes;
    const auto beginning = [&](size_t size) {
      return std::vector<NodeId>(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(size));
    };
    size_t taken = 0, refused = nodes.size();
    while (taken + 1 < refused) {
      const size_t middle = std::midpoint(taken, refused);
      (takes(beginning(middle)) ? taken : refused) = middle;
    }
    return {nodes.begin() + static_cast<std::ptrdiff_t>(taken), nodes.end()};
  }

  /// Finds the nodes at fault among `nodes`, which are in order and do not compile together.
  std::vector<NodeId> find_at_fault(const std::vector<NodeId>& nodes) {
    if (nodes.size() == 1 || tries_ + 2 > most_tries) return nodes;
    const auto half = nodes.begin() + static_cast<std::ptrdiff_t>((nodes.size() + 1) / 2);
    const std::vector<NodeId> first(nodes.begin(), half), second(half, nodes.end());
    const bool takes_first = takes(first), takes_second = takes(second);
    if (takes_first && takes_second) return second;  // too much only when together
    std::vector<NodeId> at_fault;
    if (!takes_first) at_fault = find_at_fault(first);
    if (!takes_second) std::ranges::copy(find_at_fault(second), std::back_inserter(at_fault));
    return at_fault;
  }

 private:
  bool takes(const std::vector<NodeId>& part) {
    ++tries_;
    std::vector<Region> regions;
    size_t number = 0;
    for (size_t r = 0; r < partition_.regions.size(); ++r) {
      if (r == region_)
        number = add_parts(part, regions);
      else
        regions.push_back(partition_.regions[r]);
    }
    return compiles_(number_regions(graph_, std::move(regions)), number).has_value();
  }

  /// Adds the region as up to three: the nodes before the part, the part, the nodes after it. Returns the
  /// part's number.
  size_t add_parts(const std::vector<NodeId>& part, std::vector<Region>& regions) const {
    const Region& whole = partition_.regions[region_];
    const auto begin = std::ranges::find(whole.nodes, part.front());
    const auto end = begin + static_cast<std::ptrdiff_t>(part.size());
    const auto add = [&](auto from, auto to) {
      if (from != to) regions.push_back({whole.target, {from, to}, whole.stage});
    };
    add(whole.nodes.begin(), begin);
    add(begin, end);
    const size_t number = regions.size() - 1;
    add(end, whole.nodes.end());
    return number;
  }

  const Graph& graph_;
  const Partition& partition_;
  size_t region_;
  const RefusedRegions::TryRegion& compiles_;
  int tries_ = 0;
};

}  // namespace

RefusedRegions::RefusedRegions() = default;
RefusedRegions::~RefusedRegions() = default;

void RefusedRegions::guard(PlanningProblem& problem) {
  for (PlacementTarget& target : problem.targets) {
    if (!target.backend->info().is_plugin) continue;
    auto known = std::ranges::find_if(guards_, [&](const auto& one) { return one->guards(target.backend); });
    if (known == guards_.end())
      known = guards_.insert(guards_.end(), std::make_unique<Guard>(*target.backend));
    target.backend = known->get();
  }
}

void RefusedRegions::add(const PlanningProblem& problem, const Partition& partition, size_t region,
                         const Error& error, const TryRegion& compiles) {
  if (error.kind != ErrorKind::unsupported && error.kind != ErrorKind::out_of_memory) return;
  const Region& refused = partition.regions[region];
  const PlacementTarget& target = problem.targets[refused.target];
  const auto guard =
      std::ranges::find_if(guards_, [&](const auto& one) { return one.get() == target.backend; });
  if (guard == guards_.end()) return;
  const auto is_left_out = [&](NodeId node) { return (*guard)->leaves_out(target.device.name, node); };
  if (std::ranges::any_of(refused.nodes, is_left_out)) return;  // the plan is older than the last refusal
  FaultSearch search(problem.graph, partition, region, compiles);
  const std::vector<NodeId> left_out =
      error.kind == ErrorKind::out_of_memory ? search.find_too_much() : search.find_at_fault(refused.nodes);
  for (const NodeId node : left_out) (*guard)->leave_out(target.device.name, node, error.message);
  all_.push_back({target.name, refused.nodes.size(), left_out.size(), problem.graph.node(left_out[0]).name,
                  error.message});
}

std::vector<std::string> RefusedRegions::notes() const {
  std::vector<std::string> all;
  for (const auto& guard : guards_) all.insert(all.end(), guard->notes().begin(), guard->notes().end());
  return all;
}

void RefusedRegions::leave_out_all() {
  for (const auto& guard : guards_) guard->leave_out_all();
}

}  // namespace intarsia
