// Machine code, generated in worker processes. Kernels with equal text have equal code, byte for byte,
// wherever they appear, and it is generated once; later compiles find it in a cache.
#pragma once

#include <map>
#include <span>

#include "backends/halide/emit/codegen_pool.h"
#include "base/progress.h"
#include "target/target.h"

namespace intarsia::halide {

struct EmitOptions {
  bool checks = false;      // generate Halide's asserts and bounds checks and its own runtime, for tests
  double cpu_seconds = 10;  // limit for one kernel; the last alternative gets six times as long
  Progress progress = {};   // one unit per kernel
  /// Inputs that have a part per item of a region that a run repeats for each; null: a run computes the
  /// whole.
  const std::vector<bool>* input_moves = nullptr;
};

/// Generator of code, which keeps the code. Used by one thread.
class Emitter {
 public:
  /// Starts the workers, so that they are ready when needed.
  Status start() { return pool_.start(); }

  /// Returns one outcome per kernel, in order; they live as long as the emitter.
  Result<std::vector<const CodegenOutcome*>> emit(std::span<const Kernel* const> kernels,
                                                  const EmitOptions& emit, const CompileOptions& options);

 private:
  void reuse_code(std::vector<CodegenRequest>& requests, std::vector<std::string>& missing,
                  const CompileOptions& options);
  Status make_code(const std::vector<CodegenRequest>& requests, const std::vector<std::string>& names,
                   const CodegenPool::Watch& watch, const CompileOptions& options);

  CodegenPool pool_;
  std::map<std::string, CodegenOutcome> made_;  // indexed by kernel name
};

/// Generates code for each call: of its kernel or, if that is given up, of its first alternative that is not.
/// A kernel whose code would write elements twice loses its `in_place`. Error: even the last alternative of a
/// call was given up.
Result<std::vector<EmittedKernel>> emit_objects(std::vector<Call>& calls, Emitter& emitter,
                                                const EmitOptions& emit, const CompileOptions& options);

}  // namespace intarsia::halide
