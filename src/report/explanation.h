// Explanation of where a placed model or a program runs, and why: shown by `explain` and reported by `compile
// --json`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "program/read_program.h"

namespace intarsia {

/// An input or output of a function, or an output of a node or region.
struct ExplainedPort {
  std::string name;
  std::string dtype;                   // "f32"; "opaque" for values that are not tensors
  std::optional<SymbolicShape> shape;  // nullopt if even the rank is unknown
};

struct ExplainedSlot {
  std::string name, kind, device;
  /// Pinning of threads to the slot's cores: "exact", or "per process" where a library has one pool, so only
  /// one core set of the process can have it. Empty if it is not a core set, or unknown (in a program).
  std::string cores = {};
  std::optional<MemoryUse> memory = {};       // use by all slots in its memory; nullopt if not compiled
  std::optional<uint64_t> memory_limit = {};  // limit in bytes
};

struct ExplainedNode {
  std::string name, op, reason;
  std::vector<std::string> refusals;  // "halide: no kernel for Einsum"
  size_t region = 0;
  std::optional<uint64_t> elements;    // elements that it makes; nullopt if unknown
  std::optional<uint64_t> bytes;       // bytes that it makes; nullopt if unknown
  std::vector<ExplainedPort> outputs;  // filled for models; a program does not record them
  std::vector<std::string> takers;     // targets that can run it; filled in by find_takers
  std::optional<size_t> segment;       // segment it was timed in; nullopt if its time is unknown
};

/// A segment of consecutive nodes that were timed as one: a backend fuses them, so none has a time of its
/// own.
struct ExplainedSegment {
  std::vector<size_t> nodes;                  // ascending
  std::vector<std::optional<int64_t>> times;  // nanoseconds on each of Explanation::targets
  /// Change of a run's time (negative if shorter) if only this segment moved there, for each target; computed
  /// from these times and those of copies and calls of regions.
  std::vector<std::optional<int64_t>> moves;
};

struct ExplainedRegion {
  std::string target;                  // "halide@cpu"
  std::vector<size_t> nodes;           // ascending
  std::optional<int> kernels;          // nullopt if this compile did not compile it
  std::vector<ExplainedPort> outputs;  // values that others read, or outputs of the function
  uint64_t constants_bytes = 0;        // weights that it reads
  std::optional<uint64_t> flops;       // convolution and product FLOPs (count_operations); models only
  std::optional<int64_t> predicted;    // nanoseconds, from the times of its parts in other plans
  std::optional<int64_t> measured;     // nanoseconds
  /// Returns the measured time, else the predicted one.
  std::optional<int64_t> time() const { return measured ? measured : predicted; }
};

struct ExplainedCopy {
  std::string value, from, to;    // slots
  std::optional<uint64_t> bytes;  // nullopt if known only at run time
};

/// A value on its way from its producer to one reader. Regions of -1 are the function's inputs and outputs;
/// nodes of -1 are unknown (a program records only regions).
struct ExplainedFlow {
  std::string value;
  int from_region = -1, to_region = -1;
  int from_node = -1, to_node = -1;
  bool copied = false;  // whether it crosses between devices' memories
  std::optional<uint64_t> bytes;
};

/// An operator that some backend refused. Ranked by node count, then by elements, most first.
struct RefusedOp {
  std::string op;
  size_t count = 0;
  std::optional<uint64_t> elements;   // elements that its nodes make
  std::vector<std::string> refusals;  // the first few distinct ones
  std::vector<std::string> targets;   // targets that run them instead
};

/// Plan of a function for when a library or device that it prefers is missing.
struct ExplainedAlternative {
  std::string targets;              // "halide@cpu + reference@cpu"
  std::optional<int64_t> measured;  // nanoseconds of a run on the compiling machine
};

/// Plan of a function for a range of an open size.
struct ExplainedSpecialization {
  OpenSize size;                    // size, with the range that the plan is for
  std::string targets;              // "onnxruntime@cpu"
  std::optional<int64_t> measured;  // nanoseconds of a run on the compiling machine, at `sizes`
  std::vector<std::pair<std::string, int64_t>> sizes;  // numbers of all open sizes
};

/// A part of the function that a pipeline runs on executors of its own.
struct ExplainedStage {
  std::string slot;
  std::vector<std::string> executors;        // devices, one per replica
  std::vector<size_t> regions;               // ascending
  std::vector<std::string> inputs, outputs;  // names
  uint32_t frames = 1;  // frames in flight per executor; with several, one is copied while the others run
  std::optional<int64_t>
      predicted;  // nanoseconds between two frames of the first executor, from the times of its parts
  std::optional<int64_t> measured;  // nanoseconds between two frames, from the times of its regions
};

/// A plan that was compared with the others.
struct ExplainedPlan {
  std::string name;                  // "as placed, all in halide"
  int64_t nanoseconds = 0;           // nanoseconds of a run
  std::optional<int64_t> predicted;  // predicted nanoseconds of a mixture, from the times of its parts
};

struct Explanation {
  int threads = 1;        // threads of a run
  std::string arch, cpu;  // architecture and level of a program's code; empty for models and without code
  std::vector<ExplainedPort> inputs, outputs;
  std::vector<ExplainedSlot> slots;
  std::vector<OpenSize> open_sizes;    // sizes that are open until a run
  std::vector<SymbolBinding> symbols;  // filled for models; a program has only numbers
  std::vector<ExplainedNode> nodes;
  std::vector<ExplainedRegion> regions;
  std::vector<ExplainedCopy> copies;
  std::vector<ExplainedFlow> flows;
  std::vector<ExplainedAlternative> alternatives;
  std::vector<ExplainedSpecialization> specializations;
  std::vector<ExplainedStage> stages;  // empty if the function is not divided
  std::vector<ExplainedPlan> plans;    // fastest first
  std::vector<std::string> targets;    // targets of the segments' times
  std::vector<ExplainedSegment> segments;
  std::optional<int64_t> measured;       // nanoseconds of a run; for programs with one function only
  std::optional<ProgramSize> size;       // set for programs
  std::vector<ProgramVariant> variants;  // programs for several CPUs, of which one is explained; or empty
  bool may_ship_another = false;   // set for models: a compile measures plans and may choose another one
  std::string no_times;            // reason that no segments are listed; empty if some are
  std::vector<std::string> notes;  // what the compile left out, and why
};

/// Explains a function of a model as far as its compile went: nodes and regions only if it got to regions.
Explanation explain_function(const CompiledFunction& function);
/// Explains all functions of a program without running any of it.
Explanation explain_program(const MappedProgram& mapped);

/// Fills in the targets that can run each node by asking every backend about it, which takes a while.
void find_takers(const PlanningProblem& problem, Explanation& explanation);

/// Returns the time of a segment where it is; nullopt if unknown or if regions divide the segment.
std::optional<int64_t> segment_time(const Explanation& explanation, size_t segment);

/// Returns, for each region, the first stage that has it; nullopt if the function is not divided.
std::vector<std::optional<size_t>> stages_of_regions(const Explanation& explanation);

std::vector<RefusedOp> rank_refused_ops(const Explanation& explanation);

}  // namespace intarsia
