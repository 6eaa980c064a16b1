#include "backends/halide/memory/plan_workspace.h"

#include <algorithm>

#include "backends/halide/canonicalize/canonicalize.h"

namespace intarsia::halide {
namespace {

/// Pieces of memory that values share one after the other, in place.
struct Pieces {
  std::map<ValueId, Lifetime> lifetimes;  // by the root that is alive first
  std::map<ValueId, ValueId> owners;      // root of a later value -> the first one
};

Pieces find_pieces(const Layouts& layouts, const std::vector<Call>& calls) {
  Pieces pieces{find_lifetimes(layouts, calls), {}};
  const auto root = [&](ValueId value) { return layouts.storage[index(value)].root; };
  for (const Call& call : calls) {
    if (!call.kernel.in_place) continue;
    const ValueId earlier = root(call.inputs[*call.kernel.in_place]), later = root(call.output);
    const auto known = pieces.owners.find(earlier);
    const ValueId owner = known == pieces.owners.end() ? earlier : known->second;
    pieces.owners[later] = owner;
    Lifetime& whole = pieces.lifetimes.at(owner);
    whole.last = std::max(whole.last, pieces.lifetimes.at(later).last);
    pieces.lifetimes.erase(later);
  }
  return pieces;
}

size_t bytes_of_root(const Graph& graph, ValueId root) {
  const ValueType& type = graph.value(root).type;
  return dtype_bytes(type.dtype, static_cast<size_t>(element_count(typical_shape(*type.shape))));
}

/// Places the buffers, and after the last one the scratch of each call.
ArenaPlan plan_with_own_scratch(std::vector<Lifetime> buffers, const Scratch& scratch) {
  for (size_t call = 0; call < scratch.calls.size(); ++call)
    buffers.push_back({scratch.total_of(call), static_cast<int>(call), static_cast<int>(call)});
  return plan_arena(buffers);
}

/// Places the buffers, and after the last one the scratch, beside those that are alive during calls with
/// some.
ArenaPlan plan_with_shared_scratch(const std::vector<Lifetime>& buffers, const Scratch& scratch) {
  std::vector<size_t> bytes;
  for (const Lifetime& buffer : buffers) bytes.push_back(buffer.bytes);
  bytes.push_back(scratch.total());
  const auto meets_scratch = [&](const Lifetime& buffer) {
    const auto first = scratch.calls.begin() + buffer.first, end = scratch.calls.begin() + buffer.last + 1;
    return std::any_of(first, end, [](size_t bytes) { return bytes > 0; });
  };
  return plan_arena(bytes, [&](size_t one, size_t other) {
    if (one == buffers.size()) return meets_scratch(buffers[other]);
    if (other == buffers.size()) return meets_scratch(buffers[one]);
    return buffers[one].first <= buffers[other].last && buffers[other].first <= buffers[one].last;
  });
}

/// Places the buffers, and after the last one the scratch of each call, in the way that takes least.
ArenaPlan plan_with_scratch(const std::vector<Lifetime>& buffers, const Scratch& scratch) {
  ArenaPlan plan = plan_arena(buffers);
  if (scratch.total() == 0) return plan;
  plan.offsets.resize(buffers.size() + scratch.calls.size(), plan.bytes);
  plan.bytes += scratch.total();
  if (scratch.place == Scratch::Place::apart) return plan;
  ArenaPlan other = scratch.place == Scratch::Place::own ? plan_with_own_scratch(buffers, scratch)
                                                         : plan_with_shared_scratch(buffers, scratch);
  other.offsets.resize(plan.offsets.size(), other.offsets.back());
  return other.bytes < plan.bytes ? other : plan;
}

}  // namespace

size_t Scratch::bytes() const { return calls.empty() ? 0 : std::ranges::max(calls); }

WorkspacePlan plan_workspace(const Layouts& layouts, const std::vector<Call>& calls, const Scratch& scratch) {
  const Pieces pieces = find_pieces(layouts, calls);
  std::vector<Lifetime> buffers;
  for (const auto& [root, lifetime] : pieces.lifetimes) buffers.push_back(lifetime);
  const ArenaPlan arena = plan_with_scratch(buffers, scratch);
  WorkspacePlan plan{{}, {arena.offsets.begin() + std::ssize(buffers), arena.offsets.end()}, arena.bytes};
  size_t number = 0;
  for (const auto& [root, lifetime] : pieces.lifetimes) plan.offsets[root] = arena.offsets[number++];
  for (const auto& [later, owner] : pieces.owners) plan.offsets[later] = plan.offsets.at(owner);
  return plan;
}

LivePeak find_live_peak(const Layouts& layouts, const std::vector<Call>& calls) {
  const Pieces pieces = find_pieces(layouts, calls);
  const auto bytes_of = [&](ValueId root) { return bytes_of_root(layouts.graph, root); };
  std::vector<size_t> alive(calls.size(), 0);
  for (const auto& [root, lifetime] : pieces.lifetimes)
    for (int call = lifetime.first; call <= lifetime.last; ++call)
      alive[static_cast<size_t>(call)] += bytes_of(root);
  LivePeak peak;
  if (alive.empty()) return peak;
  peak.call = static_cast<size_t>(std::ranges::max_element(alive) - alive.begin());
  peak.bytes = alive[peak.call];
  const auto at = static_cast<int>(peak.call);
  for (const auto& [root, lifetime] : pieces.lifetimes)
    if (lifetime.first <= at && at <= lifetime.last) peak.roots.push_back(root);
  std::ranges::stable_sort(peak.roots, std::greater{}, bytes_of);
  return peak;
}

std::vector<LiveValue> describe_peak(const Layouts& layouts, const std::vector<Call>& calls) {
  std::vector<LiveValue> values;
  if (is_bound_by_runs(layouts.graph)) return values;
  for (ValueId root : find_live_peak(layouts, calls).roots) {
    const NodeId maker = layouts.graph.value(root).producer;
    const std::string name = maker == no_node ? std::string() : layouts.graph.node(maker).name;
    const auto known = std::ranges::find(values, name, &LiveValue::node);
    const size_t bytes = bytes_of_root(layouts.graph, root);
    if (known == values.end())
      values.push_back({name, bytes});
    else
      known->bytes += bytes;
  }
  return values;
}

}  // namespace intarsia::halide
