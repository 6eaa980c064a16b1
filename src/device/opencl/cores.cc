#include "device/opencl/cores.h"

namespace intarsia {
namespace {

constexpr const char* thread_name = "intarsia-pocl";

bool is_of_pocl(std::string_view name) { return name == thread_name; }

}  // namespace

bool is_pocl(const std::string& platform) { return platform == "Portable Computing Language"; }

StartsPoclThreads::StartsPoclThreads() : naming_(thread_name) {}

int StartsPoclThreads::count() const { return count_threads(is_of_pocl); }

Status pin_to_cores(const OpenclDevice& device, const CoreSet* cores) {
  if (!is_pocl(device.platform)) {
    if (cores == nullptr) return {};
    return fail(ErrorKind::unsupported,
                "device '{}' ({}) cannot be pinned to the cores {}: only PoCL's devices can, and this is one "
                "of '{}'",
                device.label, device.name, cores->text(), device.platform);
  }
  const bool is_foreign = device.threads == 0 && device.compute_units > 1;
  if (is_foreign && cores != nullptr)
    return fail(ErrorKind::unsupported,
                "device '{}' ({}) cannot be pinned to the cores {}: another library of this process opened "
                "PoCL before; load the program first",
                device.label, device.name, cores->text());
  if (device.threads == 0) return {};
  TRY(pin_pool("PoCL", cores));
  if (cores != nullptr) bind_threads(is_of_pocl, *cores);
  return {};
}

}  // namespace intarsia
