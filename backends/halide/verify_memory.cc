#include "backends/halide/verify_memory.h"

#include <map>

namespace intarsia::halide {
namespace {

/// Which root's memory each byte of the workspace is.
class Owners {
 public:
  /// A root takes over its bytes with the first value written into it.
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
    const auto behind = ranges_.upper_bound(begin);
    if (behind == ranges_.begin()) return false;
    const auto& [from, range] = *std::prev(behind);
    return range.root == root && begin >= from && end <= range.end;
  }

 private:
  struct Range {
    uint64_t end = 0;
    ValueId root = no_value;
  };
  std::map<uint64_t, Range> ranges_;  // by begin; they do not overlap
};

class Verifier {
 public:
  Verifier(const Layouts& layouts, const MemoryPlan& plan) : layouts_(layouts), plan_(plan) {}

  Status verify_call(const Call& call, const std::vector<Place>& places, size_t number) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (places[i].where != Where::workspace) continue;
      const auto [begin, end] = range_of(call.inputs[i], places[i]);
      if (!owners_.owns(root_of(call.inputs[i]), begin, end))
        return fail("halide: internal error: kernel {} reads %{} where it no longer is", number, name_of(call.inputs[i]));
    }
    if (places.back().where != Where::workspace) return {};
    const auto [begin, end] = range_of(call.output, places.back());
    if (end > plan_.workspace_bytes)
      return fail("halide: internal error: %{} ends at {} of {} bytes", name_of(call.output), end, plan_.workspace_bytes);
    if (!owners_.owns(root_of(call.output), begin, end)) owners_.claim(begin, end, root_of(call.output));
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (places[i].where != Where::workspace) continue;
      const auto [from, to] = range_of(call.inputs[i], places[i]);
      if (!owners_.owns(root_of(call.inputs[i]), from, to))
        return fail("halide: internal error: kernel {} overwrites %{} while it reads it", number, name_of(call.inputs[i]));
    }
    return {};
  }

 private:
  ValueId root_of(ValueId value) const { return layouts_.storage[index(value)].root; }
  const std::string& name_of(ValueId value) const { return layouts_.graph.value(value).name; }

  /// Of the value's whole root, from where the value lies in it.
  std::pair<uint64_t, uint64_t> range_of(ValueId value, const Place& place) const {
    const ValueType& type = layouts_.graph.value(root_of(value)).type;
    const auto offset = static_cast<size_t>(layouts_.storage[index(value)].offset);
    const uint64_t begin = place.offset - dtype_bytes(type.dtype, offset);
    return {begin, begin + dtype_bytes(type.dtype, static_cast<size_t>(element_count(*type.fixed_shape())))};
  }

  const Layouts& layouts_;
  const MemoryPlan& plan_;
  Owners owners_;
};

}  // namespace

Status verify_memory(const Layouts& layouts, const std::vector<Call>& calls, const MemoryPlan& plan) {
  Verifier verifier(layouts, plan);
  for (size_t c = 0; c < calls.size(); ++c) TRY(verifier.verify_call(calls[c], plan.places[c], c));
  return {};
}

}  // namespace intarsia::halide
