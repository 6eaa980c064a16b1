#include "backends/halide/build/name_tasks.h"

#include <fmt/format.h>

#include <map>

namespace intarsia::halide {
namespace {

using Halide::Expr;
using Halide::Internal::IRMutator;
using Halide::Internal::LoweredFunc;
using Halide::Internal::Variable;

class Rename : public IRMutator {
 public:
  explicit Rename(const std::map<std::string, std::string>& names) : names_(names) {}

 private:
  using IRMutator::visit;

  /// Renames the address of a function.
  Expr visit(const Variable* variable) override {
    const auto at = names_.find(variable->name);
    return at == names_.end() ? IRMutator::visit(variable) : Variable::make(variable->type, at->second);
  }

  const std::map<std::string, std::string>& names_;
};

}  // namespace

void name_tasks(Halide::Module& module, const std::string& kernel) {
  constexpr const char* address = "::";  // prefix of a function's name where its address is taken
  std::map<std::string, std::string> names, addresses;
  for (const LoweredFunc& function : module.functions()) {
    if (function.linkage != Halide::LinkageType::Internal) continue;
    const std::string name = fmt::format("{}_task{}", kernel, names.size());
    names.emplace(function.name, name);
    addresses.emplace(address + function.name, address + name);
  }
  Rename rename(addresses);
  for (LoweredFunc& function : module.functions()) {
    if (const auto at = names.find(function.name); at != names.end()) function.name = at->second;
    function.body = rename.mutate(function.body);
  }
}

}  // namespace intarsia::halide
