// Executable of a region with open sizes: for the sizes of a run it is one of fixed sizes, which is kept.
#pragma once

#include <list>
#include <mutex>

#include "backends/halide/runtime/region_executable.h"
#include "backends/halide/runtime/room_pool.h"
#include "base/postfix_size.h"

namespace intarsia::halide {

/// Open size: the program's of that name; if the program has none, an input tells it, which has
/// factor * size + rest on an axis.
struct OpenSymbol {
  std::string name;
  std::optional<uint32_t> input;
  uint32_t axis = 0;
  int64_t factor = 1, rest = 0;
};

/// Tensor whose sizes are given by their numbers among the region's expressions.
struct OpenTensor {
  DType dtype = DType::undefined;
  std::vector<uint32_t> dims;
};

struct OpenBuffer {
  uint32_t bytes = 0;  // number of an expression
  int first = 0, last = 0;
};

/// Argument of a kernel; numbers of the kernel's expressions.
struct OpenArgument {
  HalideType type{};
  std::vector<uint32_t> extents, strides;
};

struct OpenKernel {
  KernelFunction function = nullptr;
  size_t symbols = 0;
  std::vector<PostfixSize> sizes;  // over the kernel's symbols
  std::vector<OpenArgument> arguments;
};

struct OpenPlace {
  BufferPlan::Where where = BufferPlan::Where::workspace;
  uint32_t index = 0;
  uint32_t offset = 0;  // number of an expression
};

struct OpenIndexCheck {
  uint32_t argument = 0;
  std::vector<uint32_t> low, high;  // numbers of expressions
};

struct OpenCall {
  uint32_t kernel = 0;
  std::vector<uint32_t> symbols;  // symbols of the region that the kernel's stand for
  std::vector<OpenPlace> places;
  std::string_view label;  // in the blob
  std::vector<OpenIndexCheck> checks;
  bool needs_elements = false;  // whether an empty input is an error if the output is not empty
  uint32_t times = 0;           // number of an expression: number of runs
  std::vector<uint32_t> steps;  // numbers of expressions: bytes between runs; none in a call that runs once
  bool is_copy = false;         // whether the plan says that it copies its one input as it is
};

/// Output whose size a kernel counts (abi/counted.h).
struct OpenCounted {
  uint32_t output = 0, axis = 0;
  std::vector<uint32_t> dims;  // numbers of expressions
};

/// Expression that must not be negative in a run.
struct OpenRequirement {
  uint32_t size = 0;     // number of an expression
  std::string_view why;  // in the blob
};

/// Contents of a blob: all numbers in it are checked, but not what they give for the sizes of a run.
struct OpenCode {
  std::vector<OpenSymbol> symbols;
  std::vector<PostfixSize> sizes;  // over the region's symbols
  std::vector<OpenTensor> inputs, outputs;
  std::vector<OpenBuffer> buffers;
  KernelDevice device = KernelDevice::cpu;
  std::vector<ConstTensorView> constants;
  std::vector<Place> constant_places;  // places of the constants on a device
  uint64_t scratch_bytes = 0;
  uint32_t workers = 1;
  std::vector<OpenKernel> kernels;
  std::vector<OpenCall> calls;
  std::vector<OpenRequirement> requirements;
  std::vector<OpenCounted> counted;
};

/// Region for the sizes of a run.
struct BoundRegion {
  std::vector<int64_t> symbols;
  std::vector<Shape> inputs, outputs, counted;
  size_t workspace_bytes = 0;
  RegionExecutable executable;
};

/// Binds a region to sizes. Errors: an argument of a kernel would not lie in its tensor, or a size is too
/// large for the code.
Result<BoundRegion> bind_region(const OpenCode& code, std::vector<int64_t> symbols);

class OpenRegion : public Executable {
 public:
  explicit OpenRegion(OpenCode code) : code_(std::move(code)), rooms_(code_.counted.size()) {}
  Status run(const RunContext& context) const override;
  Status prepare(Launcher& launcher) const override;
  bool has_open_workspace() const override { return true; }
  /// 0 where sizes depend on data: a run then takes memory of the region's own.
  Result<uint64_t> open_workspace_bytes(const OpenSizes& sizes) const override;
  bool appends(size_t input, size_t output) const override;

 private:
  Result<std::shared_ptr<const BoundRegion>> bound_for(const RunContext& context) const;
  Result<std::shared_ptr<const BoundRegion>> bound_to(std::span<const int64_t> symbols) const;
  Status run_on_device(const RunContext& context, const BoundRegion& bound) const;
  Tensor reserve_tensor(DType dtype, const Shape& shape) const;
  std::vector<Output> make_outputs(const RunContext& context, const BoundRegion& bound) const;
  Status run_on_host(const RunContext& context, const BoundRegion& bound) const;
  Status count_outputs(const RunContext& context, const BoundRegion& bound) const;
  Tensor take_workspace(size_t bytes) const;
  void give_back(Tensor workspace) const;

  OpenCode code_;
  RoomPool rooms_;                                               // memory of outputs that kernels count
  mutable std::mutex mutex_;                                     // guards what follows
  mutable std::list<std::shared_ptr<const BoundRegion>> bound_;  // last used first
  mutable std::vector<Tensor> workspaces_;                       // those that no run uses
};

}  // namespace intarsia::halide
