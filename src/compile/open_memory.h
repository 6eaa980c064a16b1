// Memory of values and workspaces whose sizes are open until a run, at the sizes that memory is counted with:
// the end of each symbol's range, or where it has none a size that plans are measured with.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "program/program.h"
#include "target/target.h"

namespace intarsia {

/// Returns the bytes of a region's workspace beyond `workspace_bytes`, at most the largest arena.
uint64_t open_workspace_bytes(const CompiledRegion& region, const Graph& graph);

/// Workspace of a region's run that depends on open sizes.
struct RegionWorkspace {
  uint32_t space = 0;
  uint64_t bytes = 0;
};

/// Returns, by space, the bytes of the function's arena, and the most that are alive at once, in the order of
/// the steps, of the values that its steps make for one another and the workspaces of its regions, as far as
/// they depend on open sizes: of these at most the largest arena. Values with sizes that depend on data do
/// not count. `whole` has the symbols and expressions: the function itself, or that which it is a stage of.
std::vector<uint64_t> counted_arena_bytes(
    const fbs::FunctionT& function, const fbs::FunctionT& whole,
    const std::function<RegionWorkspace(uint32_t region)>& workspace_of);

}  // namespace intarsia
