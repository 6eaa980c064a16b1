// A backend that supports the operators it is told to.
#pragma once

#include <set>
#include <string>

#include "target/target.h"

namespace intarsia {

class FakeTarget : public Target {
 public:
  FakeTarget(std::string name, std::set<std::string> ops) : name_(std::move(name)), ops_(std::move(ops)) {}
  std::string name() const override { return name_; }
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
};

}  // namespace intarsia
