#include "device/sim_executor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/clock.h"
#include "base/digest.h"
#include "base/tensor_view.h"
#include "device/declared_times.h"
#include "device/sleep_until.h"

namespace intarsia {
namespace {

/// Its handles are not addresses, like those of a real device: used as an address, one leads to no values.
struct SimMemory {
  std::shared_ptr<void> bytes;
};

class SimMemorySpace : public MemorySpace {
 public:
  SimMemorySpace(const std::string& name, const SimSettings& settings)
      : MemorySpace(name), settings_(settings) {}

  Result<Memory> allocate(size_t bytes) override {
    std::shared_ptr<void> memory = allocate_aligned(bytes);
    if (memory == nullptr)
      return fail(ErrorKind::out_of_memory, "device '{}': cannot allocate {} bytes", name(), bytes);
    return Memory(std::make_shared<SimMemory>(std::move(memory)), bytes);
  }

  void* address(const Place& place) const override {
    if (place.memory == nullptr) return nullptr;
    return static_cast<std::byte*>(static_cast<SimMemory*>(place.memory)->bytes.get()) + place.offset;
  }

  Status upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran) override {
    count_upload(bytes);
    return transfer(address(to), from, bytes, ran);
  }

  Status download(void* to, const Place& from, size_t bytes, TimeSpan* ran) override {
    count_download(bytes);
    return transfer(to, address(from), bytes, ran);
  }

  Status move(const Place& to, const Place& from, size_t bytes) override {
    if (bytes > 0) std::memmove(address(to), address(from), bytes);
    return {};
  }

  bool can_copy_from(const MemorySpace& other) const override {
    const auto* sim = dynamic_cast<const SimMemorySpace*>(&other);
    return settings_.direct > 0 && sim != nullptr && sim->settings_.direct > 0;
  }

  Status copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes,
                   TimeSpan* ran) override {
    count_direct(bytes);
    return transfer(address(to), other.address(from), bytes, ran);
  }

 private:
  Status transfer(void* target, const void* source, size_t bytes, TimeSpan* ran) {
    const TimeSpan reserved = reserve_link(bytes);
    if (bytes > 0) std::memcpy(target, source, bytes);
    sleep_until(reserved.end_ns);
    if (ran != nullptr) *ran = {reserved.begin_ns, clock_nanoseconds()};
    return {};
  }

  /// When a copy that is requested now is under way.
  TimeSpan reserve_link(size_t bytes) {
    const auto takes =
        static_cast<int64_t>(settings_.latency_us * 1e3 + static_cast<double>(bytes) / settings_.gbps);
    int64_t free_at = link_free_at_ns_.load(std::memory_order_relaxed);
    int64_t done = 0;
    do {
      done = std::max(free_at, clock_nanoseconds()) + takes;
    } while (!link_free_at_ns_.compare_exchange_weak(free_at, done, std::memory_order_relaxed));
    return {done - takes, done};
  }

  SimSettings settings_;
  std::atomic<int64_t> link_free_at_ns_{0};
};

/// What the executable allocated becomes memory of the space.
void adopt(Output& output) {
  if (!output.dynamic || output.tensor.data == nullptr) return;
  auto memory =
      std::make_shared<SimMemory>(std::shared_ptr<void>(std::move(output.owner), output.tensor.data));
  output.place = {memory.get(), 0};
  output.owner = std::move(memory);
}

/// Takes a declared time. A run whose inputs are those of the last one gives its results again.
class TimedExecutable : public Executable {
 public:
  /// `times`: nanoseconds of each source node.
  TimedExecutable(std::unique_ptr<Executable> region, std::span<const std::string> source_nodes,
                  std::vector<int64_t> times)
      : region_(std::move(region)),
        source_nodes_(source_nodes.begin(), source_nodes.end()),
        times_(std::move(times)),
        nanoseconds_(std::reduce(times_.begin(), times_.end())) {}

  Status run(const RunContext& context) const override {
    const int64_t begin = clock_nanoseconds();
    const std::optional<uint64_t> digest = digest_of(context);
    if (!give_again(context, digest)) {
      RunContext untraced = context;
      untraced.trace = nullptr;
      TRY(region_->run(untraced));
      keep(context, digest);
    }
    sleep_until(begin + nanoseconds_);
    if (context.trace != nullptr) report_nodes(*context.trace, begin);
    return {};
  }

  size_t scratch_bytes(int threads) const override { return region_->scratch_bytes(threads); }

 private:
  static bool is_plain(const ConstTensorView& tensor) {
    return tensor.data != nullptr && tensor.dtype != DType::string && tensor.dtype != DType::undefined;
  }

  /// Nothing when there are values whose bytes say nothing, or whose size is not known before.
  static std::optional<uint64_t> digest_of(const RunContext& context) {
    Digest digest;
    for (const Input& input : context.inputs) {
      if (!is_plain(input.tensor)) return std::nullopt;
      digest.add({static_cast<const std::byte*>(input.tensor.data), input.tensor.bytes()});
    }
    for (const Output& output : context.outputs) {
      if (output.dynamic || !is_plain(output.tensor)) return std::nullopt;
    }
    return digest.value();
  }

  bool give_again(const RunContext& context, std::optional<uint64_t> digest) const {
    const std::lock_guard lock(mutex_);
    if (!digest || digest != digest_ || kept_.size() != context.outputs.size()) return false;
    for (size_t i = 0; i < kept_.size(); ++i)
      std::ranges::copy(kept_[i], static_cast<std::byte*>(context.outputs[i].tensor.data));
    return true;
  }

  void keep(const RunContext& context, std::optional<uint64_t> digest) const {
    const std::lock_guard lock(mutex_);
    digest_ = digest;
    kept_.clear();
    if (!digest) return;
    for (const Output& output : context.outputs) {
      const auto* data = static_cast<const std::byte*>(output.tensor.data);
      kept_.emplace_back(data, data + output.tensor.bytes());
    }
  }

  void report_nodes(const TraceHook& trace, int64_t begin) const {
    for (size_t i = 0; i < source_nodes_.size(); ++i) {
      trace(source_nodes_[i], begin, begin + times_[i]);
      begin += times_[i];
    }
  }

  std::unique_ptr<Executable> region_;
  std::vector<std::string> source_nodes_;
  std::vector<int64_t> times_;
  int64_t nanoseconds_;
  mutable std::mutex mutex_;                          // for what follows
  mutable std::optional<uint64_t> digest_;            // of the inputs of the last run
  mutable std::vector<std::vector<std::byte>> kept_;  // its outputs
};

class SimExecutor : public Executor {
 public:
  SimExecutor(const std::string& name, const std::string& kind, const SimSettings& settings,
              std::optional<DeclaredTimes> times)
      : Executor(name, kind, std::make_shared<SimMemorySpace>(name, settings)),
        settings_(settings),
        times_(std::move(times)) {}

  Result<std::unique_ptr<Executable>> adapt(std::unique_ptr<Executable> region,
                                            std::span<const std::string> source_nodes) override {
    if (!times_) return region;
    std::vector<int64_t> times = TRY(with_context(times_->of_nodes(source_nodes), "device '{}'", name()));
    return std::make_unique<TimedExecutable>(std::move(region), source_nodes, std::move(times));
  }

  Status run(const Executable& executable, const RunContext& context) override {
    const int64_t begin = clock_nanoseconds();
    TRY(executable.run(context));
    for (Output& output : context.outputs) adopt(output);
    const int64_t end = clock_nanoseconds();
    sleep_until(end + static_cast<int64_t>(static_cast<double>(end - begin) * (settings_.slowdown - 1)));
    return {};
  }

 private:
  SimSettings settings_;
  std::optional<DeclaredTimes> times_;
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
               {"gbps", settings.gbps, 1e-6},
               {"direct", settings.direct, 0}};
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.starts_with("times=")) {
      settings.times = pair.substr(equals + 1);
      continue;
    }
    const auto* setting =
        std::ranges::find(known, pair.substr(0, equals), [](const auto& one) { return one.name; });
    if (setting == std::end(known)) {
      return fail("unknown setting '{}'; want slowdown=, latency_us=, gbps=, direct= or times=", pair);
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

Result<std::shared_ptr<Executor>> make_sim_executor(const std::string& name, SimSettings settings) {
  std::optional<DeclaredTimes> times;
  if (!settings.times.empty()) {
    times = TRY(with_context(read_declared_times(settings.times), "device '{}'", name));
    settings.latency_us = times->latency_us.value_or(settings.latency_us);
    settings.gbps = times->gbps.value_or(settings.gbps);
  }
  return std::make_shared<SimExecutor>(name, "sim", settings, std::move(times));
}

std::shared_ptr<Executor> make_stand_in(const std::string& name, const std::string& kind,
                                        const SimSettings& settings) {
  return std::make_shared<SimExecutor>(name, kind, settings, std::nullopt);
}

}  // namespace intarsia
