// Executable that runs the kernels of a region one after the other.
#pragma once

#include <optional>

#include "backends/halide/abi/halide_abi.h"
#include "backends/halide/abi/kernel_device.h"
#include "backends/halide/runtime/check_indices.h"
#include "backends/halide/runtime/kernel_runtime.h"
#include "device/executable.h"

namespace intarsia::halide {

/// Kernel in its array form: takes pointers to the user context's address, to each input buffer, to each open
/// size, and to the output buffer.
using KernelFunction = int (*)(void** arguments);

constexpr size_t max_arguments = 96;   // limit for one kernel; they are on the stack during a call
constexpr size_t max_dimensions = 16;  // limit for one argument
constexpr size_t max_sizes = 16;       // limit of the open sizes that one kernel takes

struct BufferPlan {
  enum class Where : uint8_t { input, output, constant, workspace };
  Where where = Where::workspace;
  uint32_t index = 0;
  uint64_t offset = 0;  // bytes
  HalideType type{};
  std::vector<HalideDimension> dimensions;
  Place constant = {};  // start of the constant
};

struct CallPlan {
  KernelFunction kernel;
  std::vector<uint32_t> buffers;
  std::string_view label;  // text for traces; in the blob
  uint32_t times = 1;
  std::vector<int64_t>
      steps;  // bytes by which each buffer moves from one run to the next; empty if they stay
  std::vector<IndexCheckPlan> checks = {};
  std::vector<int32_t> sizes = {};  // open sizes, which code for them takes after its inputs
  bool is_copy = false;             // whether the plan says that it copies its one input as it is
};

/// Call that may run beside the calls after it, up to `last`.
struct CallsBeside {
  size_t call = 0, last = 0;
  bool operator==(const CallsBeside&) const = default;
};

/// Contents of a blob, checked.
struct RegionCode {
  std::vector<uint64_t> input_bytes, output_bytes;
  uint64_t workspace_bytes = 0;
  uint64_t scratch_offset = 0;  // offset in the workspace
  uint64_t scratch_bytes = 0;   // bytes for each worker
  uint32_t workers = 0;
  KernelDevice device = KernelDevice::cpu;
  std::vector<BufferPlan> buffers;
  std::vector<CallPlan> calls;
  std::vector<CallsBeside> beside;  // in the order of the calls (calls_beside.h)
  /// Whether each input has a part per item of a region that a run repeats for each item; absent: a run
  /// computes the whole.
  std::optional<std::vector<bool>> input_moves;
  std::vector<TensorView> item_outputs;  // types of one item's outputs
};

class RegionExecutable : public Executable {
 public:
  explicit RegionExecutable(RegionCode code) : code_(std::move(code)) {}
  Status run(const RunContext& context) const override;
  size_t scratch_bytes(int threads) const override;
  Status prepare(Launcher& launcher) const override;
  bool appends(size_t input, size_t output) const override;

 private:
  size_t more_workers(int threads) const;
  Status check(const RunContext& context) const;
  Status check_counts(const RunContext& context) const;
  Status check_input(const RunContext& context, size_t number) const;
  /// Checks whether an argument lies where the kernels find it; one without elements may be nowhere.
  template <typename Argument>
  bool is_there(const Argument& argument, uint64_t bytes) const {
    if (bytes == 0) return true;
    return code_.device == KernelDevice::cpu ? argument.tensor.data != nullptr
                                             : argument.place.memory != nullptr;
  }
  /// Runs the calls on one item of the inputs that have a part for each, 0 of others.
  Status run_calls(const RunContext& context, size_t item) const;
  Status run_on_host(const RunContext& context, size_t item, KernelRuntime& runtime) const;
  Status run_call(const RunContext& context, size_t item, KernelRuntime& runtime, size_t call) const;
  Status run_beside(const RunContext& context, size_t item, KernelRuntime& runtime,
                    const CallsBeside& calls) const;
  Status run_on_device(const RunContext& context, size_t item) const;

  // Regions that a run repeats for each item (run_items.cc):
  Status run_items(const RunContext& context) const;
  /// Counts the items that the inputs have. Error: they have different numbers of them.
  Result<size_t> count_items(const RunContext& context) const;
  Status take_output(const RunContext& context, size_t number, size_t items) const;
  bool can_run_at_once(const RunContext& context, size_t items) const;
  Status run_items_at_once(const RunContext& context, size_t items) const;
  size_t item_workspace_bytes() const;
  Status run_in_seat(const RunContext& context, size_t item, size_t seat) const;
  uint64_t bytes_to_item(const BufferPlan& buffer, size_t item) const;
  uint8_t* address(const BufferPlan& buffer, const RunContext& context, size_t item) const;

  RegionCode code_;
};

}  // namespace intarsia::halide
