// Backend that supports a given set of operators.
#pragma once

#include <set>
#include <string>

#include "target/target.h"

namespace intarsia {

class FakeTarget : public Target {
 public:
  /// Makes a target; one whose name starts with "shut" passes no opaque value from one region to another.
  FakeTarget(std::string name, std::set<std::string> ops, bool framework = false)
      : Target({.name = std::move(name), .device_kinds = {}, .needs_framework = framework}),
        ops_(std::move(ops)) {}
  bool hands_over(const ValueType& type) const override {
    return !type.opaque || !name().starts_with("shut");
  }
  Support supports(const Graph& graph, NodeId node, const TargetDevice&) const override {
    const std::string& op = graph.node(node).op;
    return ops_.contains(op) ? Support::supported() : Support::refused("no kernel for " + op);
  }
  Result<CompiledRegion> compile(const Graph&, const TargetDevice&, const CompileOptions&) const override {
    return fail("a fake target compiles nothing");
  }

 private:
  std::set<std::string> ops_;
};

/// Backend that prefers channels last.
class ChannelsLastTarget : public FakeTarget {
 public:
  using FakeTarget::FakeTarget;
  Result<std::vector<AxisOrder>> output_layouts(const Graph& region) const override {
    std::vector<AxisOrder> orders;
    for (ValueId output : region.outputs) {
      const size_t rank = region.value(output).type.shape->size();
      orders.push_back(rank == 4 ? AxisOrder{0, 2, 3, 1} : AxisOrder{0, 1});
    }
    return orders;
  }
};

}  // namespace intarsia
