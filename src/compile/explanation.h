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
};

struct ExplainedNode {
  std::string name, op, reason;
  std::vector<std::string> refusals;  // "halide: no kernel for Einsum"
  size_t region = 0;
  std::optional<uint64_t> elements;  // that it makes; absent when unknown
};

struct ExplainedRegion {
  std::string target;          // "halide@cpu"
  std::vector<size_t> nodes;   // ascending
  std::optional<int> kernels;  // absent when it was not compiled now
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

struct Explanation {
  std::vector<ExplainedPort> inputs, outputs;
  std::vector<ExplainedSlot> slots;
  std::vector<SymbolBinding> symbols;  // of a model; a program has numbers only
  std::vector<ExplainedNode> nodes;
  std::vector<ExplainedRegion> regions;
  std::vector<ExplainedCopy> copies;
  std::vector<ExplainedFlow> flows;
  std::vector<ExplainedAlternative> alternatives;
};

/// Of a function of a model, as far as its compile went: nodes and regions only if it got to regions.
Explanation explain_function(const CompiledFunction& function);
/// Of all functions of a program, from its description alone.
Explanation explain_program(const fbs::ProgramT& program);

std::vector<RefusedOp> rank_refused_ops(const Explanation& explanation);

}  // namespace intarsia
