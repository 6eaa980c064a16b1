#include "measure/time_link.h"

#include <algorithm>

#include "base/clock.h"
#include "device/by_name/devices.h"

namespace intarsia {
namespace {

constexpr size_t few_bytes = 4096, many_bytes = 4 << 20;
constexpr int copy_rounds = 7;
constexpr int64_t rounds_nanoseconds = 50'000'000;  // time after which no round starts

/// Returns the nanoseconds of the fastest round.
Result<int64_t> time_copy(MemorySpace& from, MemorySpace& to, size_t bytes) {
  const Memory source = TRY(from.allocate(bytes)), target = TRY(to.allocate(bytes));
  std::shared_ptr<void> staging;
  if (needs_staging(from, to)) staging = TRY(to.allocate_staging(bytes));
  int64_t least = never;
  const int64_t first = clock_nanoseconds();
  for (int i = 0; i < copy_rounds; ++i) {
    const int64_t begin = clock_nanoseconds();
    if (begin - first > rounds_nanoseconds) break;
    TRY(copy_between(from, {source.handle(), 0}, to, {target.handle(), 0}, bytes, staging.get()));
    least = std::min(least, clock_nanoseconds() - begin);
  }
  return least;
}

}  // namespace

Result<LinkCost> time_link(const std::string& from_device, const std::string& to_device) {
  const std::shared_ptr<Executor> from = TRY(make_device(timed_device(from_device))),
                                  to = TRY(make_device(timed_device(to_device)));
  if (from->space() == to->space()) return LinkCost{.at = cost_measured_now(0).at};
  const auto few = static_cast<double>(TRY(time_copy(*from->space(), *to->space(), few_bytes)));
  const auto many = static_cast<double>(TRY(time_copy(*from->space(), *to->space(), many_bytes)));
  const double per_byte = std::max(many - few, 0.0) / static_cast<double>(many_bytes - few_bytes);
  return LinkCost{.latency_ns = std::max(few - per_byte * few_bytes, 0.0),
                  .ns_per_byte = per_byte,
                  .at = cost_measured_now(0).at};
}

}  // namespace intarsia
