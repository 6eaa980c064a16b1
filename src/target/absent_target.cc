#include "target/absent_target.h"

namespace intarsia {
namespace {

class AbsentTarget : public Target {
 public:
  AbsentTarget(std::string name, std::string reason, bool is_framework)
      : name_(std::move(name)), reason_(std::move(reason)), is_framework_(is_framework) {}
  std::string name() const override { return name_; }
  bool needs_framework() const override { return is_framework_; }
  bool supports_device(const std::string& kind) const override { return kind == "cpu"; }
  Support supports(const Graph&, NodeId) const override { return Support::refused(reason_); }
  Result<CompiledRegion> compile(const Graph&, const CompileOptions&) const override {
    return fail("{}: {}", name_, reason_);
  }

 private:
  std::string name_, reason_;
  bool is_framework_;
};

class NobodyTarget : public Target {
 public:
  std::string name() const override { return "nobody"; }
  bool supports_device(const std::string& kind) const override { return kind == "cpu"; }
  Support supports(const Graph&, NodeId) const override { return Support::supported(); }
  Result<CompiledRegion> compile(const Graph&, const CompileOptions&) const override {
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
