#include "backends/halide/memory/verify_memory.h"

#include <algorithm>
#include <map>

#include "base/arena_plan.h"

namespace intarsia::halide {
namespace {

/// Root that each byte of the workspace belongs to.
class Owners {
 public:
  /// Gives a root its bytes, when the first value is written into it.
  void claim(uint64_t begin, uint64_t end, ValueId root) {
    auto at = ranges_.begin();
    while (at != ranges_.end()) {
      const auto [from, range] = *at;
      if (range.end <= begin || from >= end) {
        ++at;
        continue;
      }
      at = ranges_.erase(at);
      if (from < begin) ranges_[from] = {begin, range.root};
      if (range.end > end) ranges_[end] = {range.end, range.root};
    }
    ranges_[begin] = {end, root};
  }

  bool owns(ValueId root, uint64_t begin, uint64_t end) const {
    const auto next = ranges_.upper_bound(begin);
    if (next == ranges_.begin()) return false;
    const auto& [from, range] = *std::prev(next);
    return range.root == root && begin >= from && end <= range.end;
  }

 private:
  struct Range {
    uint64_t end = 0;
    ValueId root = no_value;
  };
  std::map<uint64_t, Range> ranges_;  // indexed by begin; they do not overlap
};

/// Checks whether the anchor, which reads its inputs at other indices than it writes, depends on the body's
/// input.
bool feeds_anchor(const Kernel& kernel, ValueId input) {
  if (kernel.anchor == no_node) return false;
  std::vector<NodeId> open{kernel.anchor};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (ValueId read : values_read(kernel.body.node(node))) {
      if (read == input) return true;
      if (const NodeId producer = kernel.body.value(read).producer; producer != no_node)
        open.push_back(producer);
    }
  }
  return false;
}

/// Checks that no element of the input is read after another element of the output is written. Steps of a
/// recurrence read what others wrote.
bool is_read_in_time(const Kernel& kernel, size_t input) {
  return kernel.form != Form::recurrence && kernel.inputs[input] == kernel.output &&
         !feeds_anchor(kernel, kernel.body.inputs[input]);
}

class Verifier {
 public:
  Verifier(const Layouts& layouts, const MemoryPlan& plan) : layouts_(layouts), plan_(plan) {}

  Status verify_call(const Call& call, const std::vector<Place>& places, size_t number) {
    if (!call.walks.empty()) TRY(verify_walks(call, number));
    if (call.kernel.in_place) TRY(verify_in_place(call, places, number));
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (places[i].where != Where::workspace) continue;
      const auto [begin, end] = range_of(call.inputs[i], places[i], call.walk(i));
      if (!owners_.owns(root_of(call.inputs[i]), begin, end))
        return fail("halide: internal error: kernel {} reads %{} after it was overwritten", number,
                    name_of(call.inputs[i]));
    }
    TRY(claim_output(call, places.back()));
    claim_scratch(number);
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (places[i].where != Where::workspace || call.kernel.in_place == i) continue;
      const auto [from, to] = range_of(call.inputs[i], places[i], call.walk(i));
      if (!owners_.owns(root_of(call.inputs[i]), from, to))
        return fail("halide: internal error: kernel {} overwrites %{} while it reads it", number,
                    name_of(call.inputs[i]));
    }
    if (!owns_output(call, places.back()))
      return fail("halide: internal error: kernel {} keeps its own values in %{}", number,
                  name_of(call.output));
    return {};
  }

 private:
  Status claim_output(const Call& call, const Place& place) {
    if (place.where != Where::workspace) return {};
    const auto [begin, end] = range_of(call.output, place, call.walk(call.inputs.size()));
    if (end > plan_.workspace_bytes)
      return fail("halide: internal error: %{} ends at {} of {} bytes", name_of(call.output), end,
                  plan_.workspace_bytes);
    if (!owners_.owns(root_of(call.output), begin, end)) owners_.claim(begin, end, root_of(call.output));
    return {};
  }

  bool owns_output(const Call& call, const Place& place) const {
    if (place.where != Where::workspace) return true;
    const auto [begin, end] = range_of(call.output, place, call.walk(call.inputs.size()));
    return owners_.owns(root_of(call.output), begin, end);
  }

  /// Gives no value the bytes in which the kernel keeps its own.
  void claim_scratch(size_t call) {
    if (plan_.scratch_offsets.empty() || plan_.scratch.calls[call] == 0) return;
    const size_t begin = plan_.scratch_offsets[call];
    owners_.claim(begin, begin + plan_.scratch.total_of(call), no_value);
  }

  ValueId root_of(ValueId value) const { return layouts_.storage[index(value)].root; }
  const std::string& name_of(ValueId value) const { return layouts_.graph.value(value).name; }

  /// Verifies an input that is overwritten while it is read: it lies at the output's address, element for
  /// element, and fills the same bytes, in a kernel that reads it in time. (A later reader finds it
  /// overwritten.)
  Status verify_in_place(const Call& call, const std::vector<Place>& places, size_t number) const {
    const size_t input = *call.kernel.in_place;
    const Place &from = places[input], &to = places.back();
    const bool one_place = from.where == Where::workspace && to.where == Where::workspace &&
                           from.offset == to.offset &&
                           range_of(call.inputs[input], from, {}) == range_of(call.output, to, {});
    if (!one_place || !call.walks.empty() || !is_read_in_time(call.kernel, input))
      return fail("halide: internal error: kernel {} cannot write %{} over %{}", number, name_of(call.output),
                  name_of(call.inputs[input]));
    return {};
  }

  /// Verifies that the arguments of a repeated kernel are in the memory of their values' roots in every run.
  Status verify_walks(const Call& call, size_t number) const {
    for (size_t i = 0; i <= call.inputs.size(); ++i) {
      const bool is_output = i == call.inputs.size();
      const ValueId value = is_output ? call.output : call.inputs[i];
      const FixedArgument argument(is_output ? call.kernel.output : call.kernel.inputs[i]);
      const Dim start = layouts_.storage[index(value)].offset + call.walk(i).start;
      const int64_t first = start.number(), last = (start + call.walk(i).step * (call.times - 1)).number();
      int64_t reach = 1;
      for (size_t axis = 0; axis < argument.shape.size(); ++axis)
        reach += (argument.shape[axis] - 1) * argument.strides[axis];
      const int64_t elements = element_count(*layouts_.graph.value(root_of(value)).type.fixed_shape());
      if (std::min(first, last) < 0 || std::max(first, last) + reach > elements)
        return fail("halide: internal error: kernel {} leaves %{} while it is repeated", number,
                    name_of(value));
    }
    return {};
  }

  /// Returns the bytes of the value's whole root, from begin to end; `place` is that of the value.
  std::pair<uint64_t, uint64_t> range_of(ValueId value, const Place& place, const Walk& walk) const {
    const ValueType& type = layouts_.graph.value(root_of(value)).type;
    const auto offset = static_cast<size_t>((layouts_.storage[index(value)].offset + walk.start).number());
    const uint64_t begin = static_cast<uint64_t>(place.offset.number()) - dtype_bytes(type.dtype, offset);
    return {begin, begin + dtype_bytes(type.dtype, static_cast<size_t>(element_count(*type.fixed_shape())))};
  }

  const Layouts& layouts_;
  const MemoryPlan& plan_;
  Owners owners_;
};

// ---- regions with open sizes ----

/// Sets all open sizes to one number.
class SizeSetter {
 public:
  explicit SizeSetter(int64_t open_size) : open_size_(open_size) {}

  Layouts set(Layouts layouts) const {
    for (Value& value : layouts.graph.values) set(*value.type.shape);
    for (Storage& storage : layouts.storage) {
      set(storage.offset);
      set(storage.strides);
    }
    return layouts;
  }

  std::vector<Call> set(std::vector<Call> calls) const {
    for (Call& call : calls) {
      call.kernel.replace_sizes([&](const Dim& size) { return Dim(evaluate(size, open_size_)); });
      set(call.times);
      for (Walk& walk : call.walks) set(walk.start), set(walk.step);
    }
    return calls;
  }

  /// Places the buffers as a run of these sizes does.
  MemoryPlan set(const MemoryPlan& plan) const {
    std::vector<Lifetime> lifetimes;
    for (const auto& [bytes, first, last] : plan.buffers)
      lifetimes.push_back({static_cast<size_t>(evaluate(bytes, open_size_)), first, last});
    const ArenaPlan arena = plan_arena(lifetimes);
    MemoryPlan placed;
    placed.workspace_bytes = arena.bytes;
    placed.places = plan.places;
    for (std::vector<Place>& places : placed.places)
      for (Place& place : places) {
        set(place.offset);
        if (place.where != Where::workspace) continue;
        place.offset = place.offset + static_cast<int64_t>(arena.offsets[place.index]);
        place.index = 0;
      }
    return placed;
  }

 private:
  void set(Dim& size) const { size = evaluate(size, open_size_); }
  void set(SymbolicShape& sizes) const {
    std::ranges::for_each(sizes, [&](Dim& size) { set(size); });
  }

  const int64_t open_size_;
};

/// Returns a number for the open sizes with which no value is empty; nullopt if none was found.
std::optional<int64_t> find_open_size(const Graph& graph) {
  const auto has_elements = [](const Value& value, int64_t open_size) {
    return std::ranges::all_of(*value.type.shape,
                               [&](const Dim& size) { return evaluate(size, open_size) > 0; });
  };
  for (int64_t open_size : {typical_size, 8 * typical_size, int64_t{1}, int64_t{13}, 64 * typical_size})
    if (std::ranges::all_of(graph.values, [&](const Value& value) { return has_elements(value, open_size); }))
      return open_size;
  return std::nullopt;
}

}  // namespace

Status verify_memory(const Layouts& layouts, const std::vector<Call>& calls, const MemoryPlan& plan) {
  if (!plan.buffers.empty()) {
    // A binding proves for its sizes that all arguments lie in their tensors.
    const std::optional<int64_t> open_size = find_open_size(layouts.graph);
    if (!open_size) return {};
    const SizeSetter setter(*open_size);
    return verify_memory(setter.set(layouts), setter.set(calls), setter.set(plan));
  }
  Verifier verifier(layouts, plan);
  for (size_t c = 0; c < calls.size(); ++c) TRY(verifier.verify_call(calls[c], plan.places[c], c));
  return {};
}

}  // namespace intarsia::halide
