#include "backends/halide/memory/choose_in_place.h"

#include <algorithm>
#include <map>

#include "backends/halide/memory/lifetimes.h"

namespace intarsia::halide {
namespace {

/// Checks whether no element of this input is read once another element of the output is written: a kernel
/// reads it at the index that it writes, or reads a whole row before it writes that row. Never holds on a
/// device, whose work items repeat elements.
bool reads_before_it_writes(const Kernel& kernel, size_t input) {
  if (kernel.isa.is_offloaded() || kernel.form == Form::recurrence || kernel.inputs[input] != kernel.output)
    return false;
  if (kernel.anchor == no_node) return true;
  // Nodes in front of the anchor are computed where the anchor reads them.
  return std::ranges::none_of(
      std::span(kernel.body.nodes).first(static_cast<size_t>(index(kernel.anchor)) + 1),
      [&](const Node& node) { return std::ranges::count(node.inputs, kernel.body.inputs[input]) > 0; });
}

class InPlaceChooser {
 public:
  InPlaceChooser(const Layouts& layouts, const std::vector<Call>& calls)
      : layouts_(layouts), lifetimes_(find_lifetimes(layouts, calls)) {}

  std::optional<size_t> choose(const Call& call, int number) const {
    if (!call.walks.empty() || !is_born(call.output, number)) return std::nullopt;
    for (size_t i = 0; i < call.inputs.size(); ++i)
      if (reads_before_it_writes(call.kernel, i) && dies(call, i, number) &&
          have_equal_memory(call.inputs[i], call.output))
        return i;
    return std::nullopt;
  }

 private:
  const Storage& storage(ValueId value) const { return layouts_.storage[index(value)]; }

  bool is_born(ValueId value, int call) const {
    const auto at = lifetimes_.find(storage(value).root);
    return at != lifetimes_.end() && at->second.first == call;
  }

  /// Checks whether the call is the last reader of the input's memory, and reads no other value there.
  bool dies(const Call& call, size_t input, int number) const {
    const ValueId root = storage(call.inputs[input]).root;
    const auto at = lifetimes_.find(root);
    return at != lifetimes_.end() && at->second.last == number &&
           std::ranges::count(call.inputs, root, [&](ValueId value) { return storage(value).root; }) == 1;
  }

  bool have_equal_memory(ValueId a, ValueId b) const {
    return lifetimes_.at(storage(a).root).bytes == lifetimes_.at(storage(b).root).bytes &&
           storage(a).offset == storage(b).offset;
  }

  const Layouts& layouts_;
  std::map<ValueId, Lifetime> lifetimes_;
};

}  // namespace

void choose_in_place(const Layouts& layouts, std::vector<Call>& calls) {
  const InPlaceChooser chooser(layouts, calls);
  for (size_t c = 0; c < calls.size(); ++c)
    calls[c].kernel.in_place = chooser.choose(calls[c], static_cast<int>(c));
}

}  // namespace intarsia::halide
