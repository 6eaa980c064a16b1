// Compile half of the null backend: a template to copy, and the cost of everything but the arithmetic.
#pragma once

#include "target/target.h"

namespace intarsia {

/// Supports every node whose outputs have fixed shapes, on any device; compiles a region into nothing.
class NullTarget : public Target {
 public:
  NullTarget() : Target({.name = "null", .device_kinds = {}}) {}
  std::string version() const override { return "1"; }
  Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const override;
  Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                 const CompileOptions& options) const override;
};

}  // namespace intarsia
