// Helpers for tests of the halide backend: graphs from text, filled inputs, the compiled region loaded in
// this process, and the reference's answer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/halide/compile_region.h"
#include "device/executor.h"
#include "target/tuner.h"

namespace intarsia::test {

/// Parses the text and infers the types of all values. Inputs whose names start with "w" become constants
/// filled with random numbers; f32 numbers are a sixteenth of the size for those that start with "w_small",
/// and from 0.01 to 0.02 for "w_scale".
Result<Graph> make_graph(std::string_view text);

/// Returns seeded random numbers: floats in [-2, 2], integers in [0, 3] or of 4 bits, bool 0 and 1.
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed);

/// Returns random tensors for the inputs of a graph, whose sizes are numbers.
std::vector<Tensor> random_inputs(const Graph& graph);

/// Returns a tuner that chooses variants at random, by fake times.
Tuner random_tuner(CostTable& costs, uint32_t seed);

/// Computes the outputs of a graph with the reference kernels, node by node.
Result<std::vector<Tensor>> run_reference(const Graph& graph, const std::vector<Tensor>& inputs);

/// Allocates memory for a tensor between two inaccessible pages, adjacent to the later one or the earlier
/// one.
std::shared_ptr<void> guarded_memory(size_t bytes, bool at_end);

/// Returns the emitter that generates code for all tests of an executable.
halide::Emitter& test_emitter();

/// Region that is compiled, linked, loaded with dlopen and ready to run.
class LoadedRegion {
 public:
  /// Makes the region. `device` is an OpenCL device, on which it runs with all values in one piece of its
  /// memory, each at an odd element; null means the host.
  static Result<std::unique_ptr<LoadedRegion>> make(
      const Graph& graph, const CompileOptions& options, const halide::EmitOptions& emit,
      std::shared_ptr<Executor> device = nullptr,
      halide::KernelDevice kernels = halide::KernelDevice::opencl);
  ~LoadedRegion();
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, ThreadTeam* threads) const;
  /// Runs the region with inputs, outputs and workspace between guard pages. `outputs`: their shapes if sizes
  /// are open; `sizes`: those that the program tells, without which the region brings its workspace.
  Result<std::vector<Tensor>> run_guarded(const std::vector<Tensor>& inputs, bool at_end,
                                          const std::vector<Shape>& outputs = {},
                                          ThreadTeam* threads = nullptr, const OpenSizes& sizes = {}) const;
  /// Runs the region on its device. Error: a byte outside of its outputs and its workspace changed. `outputs`
  /// and `sizes` are as above.
  Result<std::vector<Tensor>> run_on_device(const std::vector<Tensor>& inputs,
                                            const std::vector<Shape>& outputs = {},
                                            const OpenSizes& sizes = {}) const;
  int kernels() const { return region_.kernels; }
  size_t workspace_bytes() const { return region_.workspace_bytes; }
  size_t scratch_bytes(int threads) const { return executable_->scratch_bytes(threads); }
  /// Runs the region on existing memory, as a session does for each request.
  Status run_in(const RunContext& context) const { return executable_->run(context); }

 private:
  Graph graph_;
  CompiledRegion region_;
  void* code_ = nullptr;
  std::shared_ptr<Executor> device_;
  Memory memory_;  // memory of the constants, on the device
  std::vector<ConstTensorView> constants_;
  std::vector<Place> places_;  // places of the constants
  std::unique_ptr<Executable> executable_;
};

/// Describes how `got` differs from `want`; empty if each float is within absolute * max(1, max|want|) +
/// relative * |want|, and all other elements are equal.
std::string compare(const TensorView& got, const TensorView& want, double relative = 1e-3,
                    double absolute = 1e-5);

}  // namespace intarsia::test
