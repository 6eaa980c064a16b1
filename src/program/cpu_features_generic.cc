// Features of architectures that we do not query: programs for them use the base instruction set.
#include "program/verify_machine.h"

namespace intarsia {

Result<bool> cpu_has(const std::string& feature) {
  return fail(ErrorKind::unsupported,
              "it needs the CPU feature '{}', which cannot be queried on {}: compile the model without --cpu",
              feature, machine_arch());
}

}  // namespace intarsia
