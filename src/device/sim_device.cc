#include "device/sim_device.h"

#include <sys/prctl.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/tensor_view.h"

namespace intarsia {
namespace {

using Clock = std::chrono::steady_clock;

int64_t now_ns() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

/// By default the kernel may wake a sleeper 50 us late, more than a copy takes: ask for 1 ns of slack, then
/// for the default.
void sleep_until(int64_t time_ns) {
  if (now_ns() >= time_ns) return;
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(time_ns)));
  prctl(PR_SET_TIMERSLACK, 0UL, 0, 0, 0);
}

class SimDevice : public Device {
 public:
  SimDevice(const std::string& name, const SimSettings& settings)
      : Device(name, "sim"), settings_(settings) {}

  bool in_host_memory() const override { return false; }

  Result<Buffer> allocate(size_t bytes) override {
    std::shared_ptr<void> memory = allocate_aligned(bytes);
    if (memory == nullptr)
      return fail(ErrorKind::out_of_memory, "device '{}': cannot allocate {} bytes", name(), bytes);
    return Buffer(std::move(memory), bytes);
  }

  Status upload(void* target, const void* source, size_t bytes) override {
    count_upload(bytes);
    return transfer(target, source, bytes);
  }

  Status download(void* target, const void* source, size_t bytes) override {
    count_download(bytes);
    return transfer(target, source, bytes);
  }

  Status move(void* target, const void* source, size_t bytes) override {
    if (bytes > 0) std::memmove(target, source, bytes);
    return {};
  }

  Status run(const Executable& executable, const RunContext& context) override {
    const int64_t begin = now_ns();
    TRY(executable.run(context));
    const int64_t end = now_ns();
    sleep_until(end + static_cast<int64_t>(static_cast<double>(end - begin) * (settings_.slowdown - 1)));
    return {};
  }

 private:
  Status transfer(void* target, const void* source, size_t bytes) {
    const int64_t done = reserve_link(bytes);
    if (bytes > 0) std::memcpy(target, source, bytes);
    sleep_until(done);
    return {};
  }

  /// When a copy that is requested now will be done.
  int64_t reserve_link(size_t bytes) {
    const auto takes =
        static_cast<int64_t>(settings_.latency_us * 1e3 + static_cast<double>(bytes) / settings_.gbps);
    int64_t free_at = link_free_at_ns_.load(std::memory_order_relaxed);
    int64_t done = 0;
    do {
      done = std::max(free_at, now_ns()) + takes;
    } while (!link_free_at_ns_.compare_exchange_weak(free_at, done, std::memory_order_relaxed));
    return done;
  }

  SimSettings settings_;
  std::atomic<int64_t> link_free_at_ns_{0};
};

}  // namespace

Result<SimSettings> parse_sim_settings(std::string_view text) {
  SimSettings settings;
  const struct {
    std::string_view name;
    double& value;
    double least;
  } known[] = {{"slowdown", settings.slowdown, 1},
               {"latency_us", settings.latency_us, 0},
               {"gbps", settings.gbps, 1e-6}};
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = std::min(pair.find('='), pair.size());
    const auto* setting =
        std::ranges::find(known, pair.substr(0, equals), [](const auto& one) { return one.name; });
    if (setting == std::end(known)) {
      return fail("unknown setting '{}'; want slowdown=, latency_us= or gbps=", pair);
    }
    const std::string_view number = pair.substr(std::min(equals + 1, pair.size()));
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), setting->value);
    const bool whole = error == std::errc() && end == number.data() + number.size();
    if (!whole || !std::isfinite(setting->value) || setting->value < setting->least) {
      return fail("setting '{}': want a number of at least {}", pair, setting->least);
    }
  }
  return settings;
}

std::shared_ptr<Device> make_sim_device(const std::string& name, const SimSettings& settings) {
  return std::make_shared<SimDevice>(name, settings);
}

}  // namespace intarsia
