#include "target/absent_target.h"

namespace intarsia {
namespace {

class AbsentTarget : public Target {
 public:
  AbsentTarget(std::string name, std::string reason, bool is_framework)
      : Target({.name = std::move(name), .device_kinds = {"cpu"}, .needs_framework = is_framework}),
        reason_(std::move(reason)) {}
  Support supports(const Graph&, NodeId, const TargetDevice&) const override {
    return Support::refused(reason_);
  }
  Result<CompiledRegion> compile(const Graph&, const TargetDevice&, const CompileOptions&) const override {
    return fail("{}: {}", name(), reason_);
  }

 private:
  std::string reason_;
};

class NobodyTarget : public Target {
 public:
  NobodyTarget() : Target({.name = "nobody", .device_kinds = {"cpu"}, .is_unoptimized = true}) {}
  Support supports(const Graph&, NodeId, const TargetDevice&) const override { return Support::supported(); }
  Result<CompiledRegion> compile(const Graph&, const TargetDevice&, const CompileOptions&) const override {
    return fail("internal error: a region without a backend is compiled");
  }
};

}  // namespace

std::unique_ptr<Target> make_absent_target(const std::string& name, const std::string& reason,
                                           bool is_framework) {
  return std::make_unique<AbsentTarget>(name, reason, is_framework);
}

std::unique_ptr<Target> make_nobody_target() { return std::make_unique<NobodyTarget>(); }

}  // namespace intarsia
