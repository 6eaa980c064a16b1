#include "program/verify_machine.h"

#include <vector>

#include "base/architecture.h"

namespace intarsia {

const char* machine_arch() {
  const std::optional<Arch> arch = this_arch();
  return arch ? arch_name(*arch) : "unknown";
}

Result<std::vector<std::string>> missing_features(const fbs::ProgramT& program) {
  std::vector<std::string> missing;
  if (program.arch.empty()) return missing;
  if (program.arch != machine_arch()) {
    return fail(ErrorKind::unsupported,
                "compiled for {}, but this machine is {}: compile the model for it (--arch {})", program.arch,
                machine_arch(), machine_arch());
  }
  for (const std::string& feature : program.cpu_features) {
    if (!TRY(cpu_has(feature))) missing.push_back(feature);
  }
  return missing;
}

Status verify_machine(const fbs::ProgramT& program) {
  const std::vector<std::string> missing = TRY(missing_features(program));
  if (missing.empty()) return {};
  return fail(
      ErrorKind::unsupported,
      "compiled for CPU level {}, which needs {}, but this CPU lacks {} and has only {}: compile the model "
      "with a lower --cpu level",
      program.cpu, fmt::join(program.cpu_features, ", "), fmt::join(missing, ", "),
      fmt::join(cpu_features(), ", "));
}

}  // namespace intarsia
