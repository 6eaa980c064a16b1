// What runs where, and why: what `explain` shows and `compile --json` reports, of a model that was placed or
// of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "program/program.h"

namespace intarsia {

/// An input or output.
struct ExplainedPort {
  std::string name;
  std::string dtype;           // "f32"; "opaque" for what is not a tensor
  std::optional<Shape> shape;  // -1: known only when it runs; absent: not even the rank is known
};

struct ExplainedSlot {
  std::string name, kind, device;
  /// How the threads of what runs there are held to its cores: "exact", or "per process" where a library has
  /// one pool, which one core set of the process can have. Empty: not a core set, or not known (a program).
  std::string cores = {};
  std::optional<MemoryUse> memory = {};       // of its memory, all that shares it; absent: not compiled
  std::optional<uint64_t> memory_limit = {};  // bytes
};

struct ExplainedNode {
  std::string name, op, reason;
  std::vector<std::string> refusals;  // "halide: no kernel for Einsum"
  size_t region = 0;
  std::optional<uint64_t> elements;    // that it makes; absent when unknown
  std::optional<uint64_t> bytes;       // the same
  std::vector<ExplainedPort> outputs;  // of a model; a program does not tell
  std::vector<std::string> takers;     // targets that can run it; filled in by find_takers
  std::optional<size_t> stretch;       // absent: its time is not known
};

/// Nodes that follow each other and were timed as one: a backend fuses them, so none has a time of its own.
struct ExplainedStretch {
  std::vector<size_t> nodes;                  // ascending
  std::vector<std::optional<int64_t>> times;  // nanoseconds on each of Explanation::targets
  /// How much longer (negative: shorter) a run would take with the stretch there and all else where it is, by
  /// these times, of copies and of calls of regions.
  std::vector<std::optional<int64_t>> moves;
};

struct ExplainedRegion {
  std::string target;                  // "halide@cpu"
  std::vector<size_t> nodes;           // ascending
  std::optional<int> kernels;          // absent when it was not compiled now
  std::vector<ExplainedPort> outputs;  // that others read, or are the function's
  uint64_t constants_bytes = 0;        // that it reads: weights
  std::optional<uint64_t> flops;       // of its convolutions and products (count_operations); of a model
  std::optional<int64_t> predicted;    // nanoseconds, from what its parts took in other plans
  std::optional<int64_t> measured;     // nanoseconds
  /// The better of what is known.
  std::optional<int64_t> time() const { return measured ? measured : predicted; }
};

struct ExplainedCopy {
  std::string value, from, to;    // slots
  std::optional<uint64_t> bytes;  // absent: known only when it runs
};

/// A value on its way from what makes it to one reader. Regions of -1 are the function's inputs and outputs;
/// nodes of -1 are not known (a program tells regions only).
struct ExplainedFlow {
  std::string value;
  int from_region = -1, to_region = -1;
  int from_node = -1, to_node = -1;
  bool copied = false;  // it crosses between devices' memories
  std::optional<uint64_t> bytes;
};

/// An operator that some backend refused. Ranked: the most nodes first, then the most elements.
struct RefusedOp {
  std::string op;
  size_t count = 0;
  std::optional<uint64_t> elements;   // that its nodes make
  std::vector<std::string> refusals;  // distinct, the first few
  std::vector<std::string> targets;   // where they run instead
};

/// What runs a function where a library or a device that it prefers is missing.
struct ExplainedAlternative {
  std::string targets;              // "halide@cpu + reference@cpu"
  std::optional<int64_t> measured;  // nanoseconds of a run, where it was compiled
};

/// A part of the function that a pipeline runs on executors of its own.
struct ExplainedStage {
  std::string slot;
  std::vector<std::string> executors;        // devices, one a replica
  std::vector<size_t> regions;               // ascending
  std::vector<std::string> inputs, outputs;  // names
  std::optional<int64_t> predicted;  // nanoseconds of a frame on one executor, by the times of its parts
  std::optional<int64_t> measured;   // the same by those of its regions
};

/// A plan that was compared with the others.
struct ExplainedPlan {
  std::string name;                  // "as placed, all in halide"
  int64_t nanoseconds = 0;           // of a run
  std::optional<int64_t> predicted;  // the same of a mixture, from the times of its parts
};

struct Explanation {
  int threads = 1;  // of a run
  std::vector<ExplainedPort> inputs, outputs;
  std::vector<ExplainedSlot> slots;
  std::vector<SymbolBinding> symbols;  // of a model; a program has numbers only
  std::vector<ExplainedNode> nodes;
  std::vector<ExplainedRegion> regions;
  std::vector<ExplainedCopy> copies;
  std::vector<ExplainedFlow> flows;
  std::vector<ExplainedAlternative> alternatives;
  std::vector<ExplainedStage> stages;  // empty: the function is not divided
  std::vector<ExplainedPlan> plans;    // the fastest first
  std::vector<std::string> targets;    // of the stretches' times
  std::vector<ExplainedStretch> stretches;
  std::optional<int64_t> measured;  // nanoseconds of a run; of a program with one function
  std::optional<ProgramSize> size;  // of a program
  bool may_ship_another = false;    // of a model: a compile measures plans and may choose another one
  std::string no_times;             // why no stretches are listed; empty: some are
};

/// Of a function of a model, as far as its compile went: nodes and regions only if it got to regions.
Explanation explain_function(const CompiledFunction& function);
/// Of all functions of a program, without running any of it.
Explanation explain_program(const MappedProgram& mapped);

/// Asks every backend about every node, which takes a while.
void find_takers(const PlanningProblem& problem, Explanation& explanation);

/// What a stretch takes where it is.
std::optional<int64_t> stretch_time(const Explanation& explanation, size_t stretch);

/// By region: the first stage that has it; nothing where the function is not divided.
std::vector<std::optional<size_t>> stages_of_regions(const Explanation& explanation);

std::vector<RefusedOp> rank_refused_ops(const Explanation& explanation);

}  // namespace intarsia
