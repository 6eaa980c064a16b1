#include "program/verify_machine.h"

#include <vector>

namespace intarsia {

const char* machine_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
  return "riscv64";
#else
  return "unknown";
#endif
}

Result<std::vector<std::string>> missing_features(const fbs::ProgramT& program) {
  std::vector<std::string> missing;
  if (program.arch.empty()) return missing;
  if (program.arch != machine_arch()) {
    return fail(ErrorKind::unsupported,
                "compiled for {}, but this machine is {}: compile the model on a machine of that kind",
                program.arch, machine_arch());
  }
  for (const std::string& feature : program.cpu_features) {
    if (!TRY(cpu_has(feature))) missing.push_back(feature);
  }
  return missing;
}

Status verify_machine(const fbs::ProgramT& program) {
  const std::vector<std::string> missing = TRY(missing_features(program));
  if (missing.empty()) return {};
  return fail(ErrorKind::unsupported,
              "compiled for CPU level {}, but this CPU lacks {}: compile the model with a lower --cpu level",
              program.cpu, fmt::join(missing, ", "));
}

}  // namespace intarsia
