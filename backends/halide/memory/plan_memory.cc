#include "backends/halide/memory/plan_memory.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/memory/pack_weights.h"
#include "backends/halide/schedule/winograd.h"

namespace intarsia::halide {
namespace {

class Planner {
 public:
  Planner(const Layouts& layouts, const std::vector<Call>& calls, Scratch scratch)
      : layouts_(layouts), graph_(layouts.graph), calls_(calls) {
    plan_.scratch = std::move(scratch);
  }

  MemoryPlan plan() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) fixed_[graph_.inputs[i]] = {Where::input, i, 0};
    for (size_t i = 0; i < graph_.outputs.size(); ++i) fixed_[graph_.outputs[i]] = {Where::output, i, 0};
    place_workspace();
    for (const Call& call : calls_) {
      std::vector<Place>& places = plan_.places.emplace_back();
      for (size_t i = 0; i < call.inputs.size(); ++i)
        places.push_back(walked(input_place(call, i), call, i, call.inputs[i]));
      places.push_back(walked(place(call.output), call, call.inputs.size(), call.output));
    }
    return std::move(plan_);
  }

 private:
  ValueId root(ValueId value) const { return layouts_.storage[index(value)].root; }

  size_t element_bytes(ValueId value) const {
    return static_cast<size_t>(dtype_bits(graph_.value(value).type.dtype)) / 8;
  }

  Dim bytes_of(const Dim& elements, ValueId value) const {
    return elements * static_cast<int64_t>(element_bytes(value));
  }

  /// Leaves the placing to the run.
  void list_buffers(const std::map<ValueId, Lifetime>& lifetimes) {
    for (const auto& [root, lifetime] : lifetimes) {
      fixed_[root] = {Where::workspace, plan_.buffers.size(), 0};
      const SymbolicShape& sizes = sizes_of(graph_, root);
      plan_.buffers.push_back(
          {bytes_of(product_of_dims(sizes, 0, sizes.size()), root), lifetime.first, lifetime.last});
    }
  }

  void place_workspace() {
    if (is_bound_by_runs(graph_)) return list_buffers(find_lifetimes(layouts_, calls_));
    WorkspacePlan plan = plan_workspace(layouts_, calls_, plan_.scratch);
    for (const auto& [root, offset] : plan.offsets)
      fixed_[root] = {Where::workspace, 0, static_cast<int64_t>(offset)};
    plan_.workspace_bytes = plan.bytes;
    plan_.scratch_offsets = std::move(plan.scratch_offsets);
  }

  Place place(ValueId value) const {
    Place place = fixed_.at(root(value));
    place.offset = place.offset + bytes_of(layouts_.storage[index(value)].offset, value);
    return place;
  }

  /// Returns the place of an argument of a repeated call in its first run.
  Place walked(Place place, const Call& call, size_t argument, ValueId value) const {
    place.offset = place.offset + bytes_of(call.walk(argument).start, value);
    return place;
  }

  /// Returns the number of the constant that has the packed weights; `value` is input `i` of the kernel.
  size_t packed_weights(const Kernel& kernel, size_t i, ValueId value) {
    const auto& [weights, schedule, packing] = kernel.contraction();
    const auto key =
        std::tuple{value, packing.panel, kernel.inputs[i].dtype, packing.dot, schedule.algorithm};
    const auto [at, made] = packed_.try_emplace(key, plan_.constants.size());
    if (!made) return at->second;
    const Shape shape = *graph_.value(value).type.fixed_shape();
    plan_.constants.push_back(pack_weights(
        *graph_.value(root(value)).constant, layouts_.storage[index(value)], shape,
        kernel.body.node(kernel.anchor), fixed_sizes(kernel.inputs[i].shape), kernel.contraction()));
    const uint64_t dense = static_cast<uint64_t>(element_count(shape)) * element_bytes(value);
    const uint64_t bytes = plan_.constants.back().bytes();
    if (bytes > dense)
      plan_.growths[is_winograd(schedule.algorithm) ? "winograd" : "padding"] += bytes - dense;
    return at->second;
  }

  Place input_place(const Call& call, size_t i) {
    ValueId value = call.inputs[i];
    const auto& constant = graph_.value(root(value)).constant;
    if (!constant) return place(value);
    const Kernel& kernel = call.kernel;
    const Storage& storage = layouts_.storage[index(value)];
    if (kernel.weights() == i && kernel.contraction().packing.panel > 0)
      return {Where::constant, packed_weights(kernel, i, value), 0};
    auto [at, made] = constants_.try_emplace(root(value), plan_.constants.size());
    if (made) plan_.constants.push_back(*constant);
    return {Where::constant, at->second, bytes_of(storage.offset, value)};
  }

  const Layouts& layouts_;
  const Graph& graph_;
  const std::vector<Call>& calls_;
  std::map<ValueId, Place> fixed_;  // places of roots
  std::map<ValueId, size_t> constants_;
  std::map<std::tuple<ValueId, int64_t, DType, int64_t, ContractionSchedule::Algorithm>, size_t> packed_;
  MemoryPlan plan_;
};

std::string print_place(const Place& place, bool is_open) {
  constexpr const char* names[] = {"input", "output", "constant", "workspace"};
  std::string text = names[static_cast<size_t>(place.where)];
  if (place.where != Where::workspace || is_open) text += fmt::format(" {}", place.index);
  const bool is_start = place.offset == 0 && (place.where != Where::workspace || is_open);
  return is_start ? text : fmt::format("{}+{}", text, place.offset.print());
}

/// Returns a text about what the kernel of a call keeps in a place of its own.
std::string print_own_scratch(const MemoryPlan& memory, size_t call) {
  const Scratch& scratch = memory.scratch;
  if (memory.scratch_offsets.empty() || scratch.place != Scratch::Place::own || scratch.calls[call] == 0)
    return "";
  return fmt::format(", scratch of {} bytes at {}", scratch.total_of(call), memory.scratch_offsets[call]);
}

}  // namespace

std::string print_memory(const Layouts& layouts, const std::vector<Call>& calls, const MemoryPlan& memory) {
  std::string text =
      fmt::format("workspace {} bytes, {} constants\n", memory.workspace_bytes, memory.constants.size());
  if (!memory.scratch_offsets.empty() && memory.scratch.place != Scratch::Place::own)
    text += fmt::format("scratch of {} bytes at {}\n", memory.scratch.total(), memory.scratch_offsets[0]);
  for (size_t c = 0; c < calls.size(); ++c) {
    std::vector<std::string> places;
    for (const Place& place : memory.places[c]) places.push_back(print_place(place, !memory.buffers.empty()));
    const std::string to = places.back();
    places.pop_back();
    text += fmt::format("%{} = {} of {}{}\n", layouts.graph.value(calls[c].output).name, to,
                        fmt::join(places, ", "), print_own_scratch(memory, c));
  }
  return text;
}

MemoryPlan plan_memory(const Layouts& layouts, const std::vector<Call>& calls, Scratch scratch) {
  return Planner(layouts, calls, std::move(scratch)).plan();
}

}  // namespace intarsia::halide
