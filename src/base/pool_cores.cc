#include "base/pool_cores.h"

#include <map>
#include <mutex>
#include <optional>

namespace intarsia {
namespace {

std::string describe(const std::optional<CoreSet>& cores) {
  return cores ? "the cores " + cores->text() : "no cores in particular";
}

}  // namespace

Status hold_pool(const std::string& library, const CoreSet* cores) {
  static std::mutex mutex;
  static auto& held = *new std::map<std::string, std::optional<CoreSet>>;  // threads may outlive statics
  const std::optional<CoreSet> wanted = cores != nullptr ? std::optional(*cores) : std::nullopt;
  std::lock_guard lock(mutex);
  const auto [at, is_new] = held.emplace(library, wanted);
  if (is_new || at->second == wanted) return {};
  return fail(
      "{0} has one pool of threads in a process, which is held to {1}, and a region wants {2}; give all "
      "regions "
      "of {0} the same cores, or run them in two processes",
      library, describe(at->second), describe(wanted));
}

}  // namespace intarsia
