// Memory plan: every value a kernel touches gets its place: in the caller's inputs and outputs, in a
// constant, or in the workspace, where values that are never live at the same time share bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/halide/layout/choose_layouts.h"
#include "backends/halide/memory/plan_workspace.h"
#include "backends/halide/schedule/kernel.h"
#include "target/target.h"

namespace intarsia::halide {

enum class Where : uint8_t { input, output, constant, workspace };

struct Place {
  Where where = Where::workspace;
  /// Number of the region's input or output, of MemoryPlan::constants, or of MemoryPlan::buffers, if there
  /// are any.
  size_t index = 0;
  Dim offset = 0;  // bytes
};

struct MemoryPlan {
  std::vector<std::vector<Place>> places;  // places of each call's inputs, then its output, in its first run
  std::vector<Tensor> constants;           // constants as the kernels want them: packed where requested
  size_t workspace_bytes = 0;
  Scratch scratch = {};
  std::vector<size_t> scratch_offsets = {};  // by call, if there is scratch in a region without open sizes
  /// Parts of the workspace of a region with open sizes, from the first call that writes each to the last
  /// that reads it, which are placed when the sizes are known; empty if all sizes are numbers.
  std::vector<OpenWorkspace> buffers;
  std::map<std::string, uint64_t> growths =
      {};  // bytes that packed weights take in addition, by reason (WeightGrowth)
};

MemoryPlan plan_memory(const Layouts& layouts, const std::vector<Call>& calls, Scratch scratch = {});

/// Prints a line per call: "%y = workspace+64 of input 0, constant 1".
std::string print_memory(const Layouts& layouts, const std::vector<Call>& calls, const MemoryPlan& memory);

}  // namespace intarsia::halide
