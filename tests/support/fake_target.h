// A backend that supports a given set of operators.
#pragma once

#include <set>
#include <string>

#include "target/target.h"

namespace intarsia {

class FakeTarget : public Target {
 public:
  /// A framework whose name begins with "shut" passes no opaque value from one region to another.
  FakeTarget(std::string name, std::set<std::string> ops, bool framework = false)
      : name_(std::move(name)), ops_(std::move(ops)), framework_(framework) {}
  std::string name() const override { return name_; }
  bool needs_framework() const override { return framework_; }
  bool hands_over(const ValueType& type) const override { return !type.opaque || !name_.starts_with("shut"); }
  bool supports_device(const std::string&) const override { return true; }
  Support supports(const Graph& graph, NodeId node) const override {
    const std::string& op = graph.node(node).op;
    return ops_.contains(op) ? Support::supported() : Support::refused("no kernel for " + op);
  }
  Result<CompiledRegion> compile(const Graph&, const CompileOptions&) const override {
    return fail("a fake target compiles nothing");
  }

 private:
  std::string name_;
  std::set<std::string> ops_;
  bool framework_ = false;
};

}  // namespace intarsia
