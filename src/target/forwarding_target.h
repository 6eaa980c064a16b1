// Target that passes calls on to another one.
#pragma once

#include "target/target.h"

namespace intarsia {

/// Target that passes every call on to another one, which outlives it. A derived class overrides what it
/// changes.
class ForwardingTarget : public Target {
 public:
  explicit ForwardingTarget(const Target& target) : Target(target.info()), target_(target) {}

  std::string version() const override { return target_.version(); }
  uint64_t memory_bytes(const std::string& device) const override { return target_.memory_bytes(device); }
  bool hands_over(const ValueType& type) const override { return target_.hands_over(type); }
  Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const override {
    return target_.supports(graph, node, device);
  }
  bool wants_one_open_size(const Graph& graph, NodeId node) const override {
    return target_.wants_one_open_size(graph, node);
  }
  bool ends_region(const Graph& graph, NodeId node) const override {
    return target_.ends_region(graph, node);
  }
  Result<std::vector<size_t>> groups(const Graph& graph, const TargetDevice& device) const override {
    return target_.groups(graph, device);
  }
  Status infer_types(Graph& graph, NodeId node) const override { return target_.infer_types(graph, node); }
  Result<std::vector<AxisOrder>> output_layouts(const Graph& region) const override {
    return target_.output_layouts(region);
  }
  Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                 const CompileOptions& options) const override {
    return target_.compile(region, device, options);
  }

 protected:
  const Target& target_;
};

}  // namespace intarsia
