// From a model file to a program file.
#pragma once

#include <optional>

#include "compile/compile_request.h"
#include "passes/bind_shapes.h"
#include "plan/insert_copies.h"

namespace intarsia {

/// A device's name inside the program.
struct DeviceSlot {
  std::string name;    // "accel"
  std::string kind;    // "sim"
  std::string device;  // "sim:0"
};

/// What a compile decided and made, for reports.
struct CompileResult {
  Graph graph;                // as it was placed
  std::string function_name;  // in the program: a SavedModel's signature, else "main"
  std::vector<DeviceSlot> slots;
  std::vector<PlacementTarget> targets;
  std::vector<SymbolBinding> bindings;
  Placement placement;
  Partition partition;
  std::vector<RegionBoundary> boundaries;
  StepList steps;
  std::vector<int> kernels;  // one entry a region
  TuningReport tuning;
  CodegenReport codegen;
  std::optional<PlanReport> plan;  // absent when all that runs is of one backend: there is nothing to choose
  uint64_t constants_bytes = 0;    // as stored in the program, of all functions
  uint64_t model_weights_bytes = 0;
  uint64_t arena_bytes = 0;  // of all slots
  double compile_seconds = 0;
  bool stopped = false;  // by stop_after: what comes after that pass is empty
};

/// The names that print_after and stop_after take, in order. print_after takes steps of backends, too:
/// "halide.fuse".
std::vector<std::string> pass_names();

/// One result a function: a SavedModel has one for each signature that is asked for, any other model has one.
/// The first one also tells of the whole program (constants_bytes, compile_seconds). Errors name the model
/// and what to do. The program is written whole or not at all.
Result<std::vector<CompileResult>> compile_model(const CompileRequest& request, const BackendRegistry& tools);

}  // namespace intarsia
