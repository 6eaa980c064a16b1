#include "backends/halide/memory/lifetimes.h"

#include <set>

namespace intarsia::halide {
namespace {

/// Bytes that kernels may read past the end of what they own: up to a vector.
constexpr size_t slack = 64;

}  // namespace

std::map<ValueId, Lifetime> find_lifetimes(const Layouts& layouts, const std::vector<Call>& calls) {
  const Graph& graph = layouts.graph;
  std::set<ValueId> callers(graph.inputs.begin(), graph.inputs.end());
  callers.insert(graph.outputs.begin(), graph.outputs.end());
  std::map<ValueId, Lifetime> lifetimes;
  auto touch = [&](ValueId value, size_t call) {
    const ValueId root = layouts.storage[index(value)].root;
    if (callers.contains(root) || graph.value(root).constant) return;
    const ValueType& type = graph.value(root).type;
    const size_t bytes =
        dtype_bytes(type.dtype, static_cast<size_t>(element_count(typical_shape(*type.shape)))) + slack;
    const auto step = static_cast<int>(call);
    lifetimes.try_emplace(root, Lifetime{bytes, step, step}).first->second.last = step;
  };
  for (size_t c = 0; c < calls.size(); ++c) {
    for (ValueId input : calls[c].inputs) touch(input, c);
    touch(calls[c].output, c);
  }
  return lifetimes;
}

}  // namespace intarsia::halide
