// Calls of kernels that a compiled region consists of, for programs in plain C.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attributes.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "target/cost_table.h"

namespace intarsia {

/// Tensor that a kernel reads or writes. Its sizes and places may be expressions over open sizes of the
/// function.
struct CallTensor {
  enum class Where : uint8_t { input, output, constant, workspace };

  Where where = Where::workspace;
  size_t index = 0;  // number of the region's input, output or constant, or of the part of its workspace
  Dim offset = 0;    // bytes from the start of that
  Dim step = 0;      // bytes from one run of a repeated call to the next; may be negative
  DType dtype = DType::undefined;
  SymbolicShape extents, strides;  // strides in elements
};

/// Range that the elements of a tensor, which are indices, must be in: one for all of them, or one for each
/// along the last axis.
struct CallCheck {
  size_t tensor = 0;                        // number of the call's tensor, of i32 or i64
  std::vector<std::pair<Dim, Dim>> ranges;  // least and greatest allowed index
};

/// Memory for what a kernel allocates while it runs, of each thread after that of the one before.
struct CallScratch {
  size_t part = 0;      // number of the part of the workspace
  uint64_t offset = 0;  // bytes from its start
  Dim bytes = 0;        // of a thread; a multiple of 64
};

struct KernelCall {
  std::string
      symbol;         // function that takes an array of pointers: to the user context, tensors, sizes, output
  CostKey key;        // of the kernel among measured times
  std::string label;  // description of the work: "conv1: conv relu"
  std::vector<CallTensor> tensors;  // inputs, then the output
  SymbolicShape sizes;              // open sizes that the code takes
  Dim times = 1;                    // number of runs, one after the other
  std::vector<CallCheck> checks;
  bool is_copy = false;  // copies its one input as it is
  CallScratch scratch;
};

/// Call of a user's kernel (include/intarsia/kernel.h), which the program is linked with. Its tensors are
/// dense.
struct UserCall {
  std::string label;  // name of the node
  std::string domain, op;
  int version = 0;
  Attributes attributes;
  std::vector<CallTensor> inputs, outputs;  // of type `undefined` where left out
};

/// Part of the workspace, used from one call to another.
struct CallWorkspace {
  Dim bytes = 0;
  int first = 0, last = 0;
};

/// Work on each item of a batch: the calls are repeated for each.
struct CallItems {
  std::vector<bool> input_moves;                    // whether an input has a part per item, by input
  std::vector<uint64_t> input_bytes, output_bytes;  // bytes of one item
};

struct RegionCalls {
  std::vector<KernelCall> calls;
  std::vector<UserCall> user_calls = {};  // in place of `calls` where kernels are a user's
  /// Whether places in the workspace, of CompiledRegion::workspace_bytes, are known; else each of its parts,
  /// whose bytes depend on open sizes, has a place of its own.
  bool is_placed = true;
  std::vector<CallWorkspace> workspace;
  std::vector<std::pair<Dim, std::string>> requirements = {};  // sizes that must not be negative, and why
  std::optional<CallItems> items = {};
  uint64_t stack_bytes = 0;  // most that one of the kernels takes of the stack; 0: unknown
  std::vector<std::pair<std::string_view, std::string_view>> sources =
      {};                    // names and texts of files to include
  std::string why_not = {};  // why plain C cannot make these calls; empty if it can
};

}  // namespace intarsia
