// Plan of a function's memory for one combination of its open sizes.
#pragma once

#include <list>
#include <span>
#include <vector>

#include "base/arena_plan.h"
#include "base/result.h"
#include "base/shape.h"
#include "device/executable.h"
#include "program/step_order.h"
#include "runtime/bind_program.h"

namespace intarsia {

/// Piece of memory that a run places: a value, or the workspace of a step's region.
struct BoundPiece {
  bool is_value = false;
  uint32_t number = 0;  // of the value or the step
  uint32_t space = 0;
  std::vector<uint32_t> steps;  // steps that use it, the one that makes it first
};

/// Shapes and places that follow from the open sizes.
struct SizePlan {
  std::vector<int64_t> sizes;         // of the function's symbols
  std::vector<Shape> shapes;          // as SizePlanner::values()
  std::vector<uint64_t> bytes;        // as SizePlanner::pieces()
  std::vector<uint64_t> offsets;      // as SizePlanner::pieces()
  std::vector<uint64_t> arena_bytes;  // by space
};

/// Planner of what depends on open sizes; keeps the plans that were used last.
class SizePlanner {
 public:
  /// Makes a planner for a function, which must outlive it. `order`: how its steps run.
  SizePlanner(const BoundProgram& program, const fbs::FunctionT& function, StepOrder order);

  /// Returns the values whose shapes follow from open sizes, without inputs.
  const std::vector<uint32_t>& values() const { return values_; }
  const std::vector<BoundPiece>& pieces() const { return pieces_; }

  /// Returns the plan for these sizes, at the same address while it is kept. A plan that is kept costs no
  /// allocation. Errors: the model does not work with these sizes, or they need more memory than there can
  /// be.
  Result<const SizePlan*> plan(const OpenSizes& sizes);

 private:
  Result<SizePlan> make(const OpenSizes& sizes) const;
  Result<std::vector<Shape>> find_shapes(std::span<const int64_t> sizes) const;
  Result<uint64_t> bytes_of(const BoundPiece& piece, const SizePlan& plan, const OpenSizes& sizes) const;
  Status place_pieces(SizePlan& plan) const;

  const BoundProgram& program_;
  const fbs::FunctionT& function_;
  StepOrder order_;
  std::vector<uint32_t> values_;
  std::vector<size_t> position_;  // of a value among `values_`, by its number
  std::vector<BoundPiece> pieces_;
  std::list<SizePlan> plans_;  // last used first
};

}  // namespace intarsia
