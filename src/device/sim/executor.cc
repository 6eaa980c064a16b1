#include "device/sim/executor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <semaphore>

#include "base/clock.h"
#include "base/digest.h"
#include "base/tensor_view.h"
#include "device/sim/declared_times.h"
#include "device/sleep_until.h"

namespace intarsia {
namespace {

/// Memory whose handles, like those of a real device, are not addresses: used as an address, a handle leads
/// to no values.
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

  /// Reserves the link for a copy requested now; returns the span of the copy.
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

/// Turns memory that the executable allocated into memory of the space.
void adopt(Output& output) {
  if (!output.dynamic || output.tensor.data == nullptr) return;
  auto memory =
      std::make_shared<SimMemory>(std::shared_ptr<void>(std::move(output.owner), output.tensor.data));
  output.place = {memory.get(), 0};
  output.owner = std::move(memory);
}

/// Executable whose runs take a declared time. A run with the inputs of the last one returns its results
/// again.
class TimedExecutable : public Executable {
 public:
  /// Takes the nanoseconds of each source node in `times`.
  TimedExecutable(std::unique_ptr<Executable> region, std::span<const std::string> source_nodes,
                  std::vector<int64_t> times)
      : region_(std::move(region)),
        source_nodes_(source_nodes.begin(), source_nodes.end()),
        times_(std::move(times)),
        nanoseconds_(std::reduce(times_.begin(), times_.end())) {}

  Status run(const RunContext& context) const override {
    TRY(run_from(clock_nanoseconds(), context));
    return {};
  }

  /// Runs on a device that was free at `begin`; returns when it is free again.
  Result<int64_t> run_from(int64_t begin, const RunContext& context) const {
    const std::optional<uint64_t> digest = digest_of(context);
    if (!give_again(context, digest)) {
      RunContext untraced = context;
      untraced.trace = nullptr;
      TRY(region_->run(untraced));
      keep(context, digest);
    }
    const int64_t end = std::max(begin + nanoseconds_, clock_nanoseconds());
    sleep_until(end);
    if (context.trace != nullptr) report_nodes(*context.trace, begin);
    return end;
  }

  size_t scratch_bytes(int threads) const override { return region_->scratch_bytes(threads); }
  bool has_open_workspace() const override { return region_->has_open_workspace(); }
  Result<uint64_t> open_workspace_bytes(const OpenSizes& sizes) const override {
    return region_->open_workspace_bytes(sizes);
  }

 private:
  static bool is_plain(const ConstTensorView& tensor) {
    return tensor.data != nullptr && tensor.dtype != DType::string && tensor.dtype != DType::undefined;
  }

  /// Returns the digest of the inputs; nullopt if some values have no plain bytes, or a size that is not
  /// known in advance.
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
  mutable std::mutex mutex_;                          // guards the members below
  mutable std::optional<uint64_t> digest_;            // digest of the last run's inputs
  mutable std::vector<std::vector<std::byte>> kept_;  // outputs of the last run
};

/// Compute queues of a device, with the declared time at which each became free: a device starts a waiting
/// run as soon as the previous one has ended, however late its host learns of that.
class ComputeQueues {
 public:
  explicit ComputeQueues(uint32_t count) : free_(count), free_since_ns_(count) {}

  /// Loan of a queue; the constructor waits for one.
  class Lent {
   public:
    explicit Lent(ComputeQueues& queues) : queues_(queues), asked_ns_(clock_nanoseconds()) {
      queues_.free_.acquire();
      const std::lock_guard lock(queues_.mutex_);
      const auto longest = std::ranges::min_element(queues_.free_since_ns_);
      begin_ns_ = end_ns_ = std::max(asked_ns_, *longest);
      queues_.free_since_ns_.erase(longest);
    }
    ~Lent() {
      {
        const std::lock_guard lock(queues_.mutex_);
        queues_.free_since_ns_.push_back(end_ns_);
      }
      queues_.free_.release();
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

    /// Returns when the device starts.
    int64_t begin_ns() const { return begin_ns_; }
    void set_end(int64_t end_ns) { end_ns_ = end_ns; }

   private:
    ComputeQueues& queues_;
    int64_t asked_ns_, begin_ns_ = 0, end_ns_ = 0;
  };

 private:
  std::counting_semaphore<> free_;
  std::mutex mutex_;
  std::vector<int64_t> free_since_ns_;  // time, by free queue
};

class SimExecutor : public Executor {
 public:
  SimExecutor(const std::string& name, const std::string& kind, const SimSettings& settings,
              std::optional<DeclaredTimes> times)
      : Executor(name, kind, std::make_shared<SimMemorySpace>(name, settings)),
        settings_(settings),
        times_(std::move(times)),
        queues_(queues()) {}

  uint32_t queues() const override { return times_ ? times_->queues : 1; }

  Result<std::unique_ptr<Executable>> adapt(std::unique_ptr<Executable> region,
                                            std::span<const std::string> source_nodes) override {
    if (!times_) return region;
    std::vector<int64_t> times = TRY(with_context(times_->of_nodes(source_nodes), "device '{}'", name()));
    return std::make_unique<TimedExecutable>(std::move(region), source_nodes, std::move(times));
  }

  /// Runs a region, at most as many at once as the device has queues.
  Status run(const Executable& executable, const RunContext& context) override {
    ComputeQueues::Lent queue(queues_);
    if (const auto* timed = dynamic_cast<const TimedExecutable*>(&executable)) {
      queue.set_end(TRY(timed->run_from(queue.begin_ns(), context)));
      for (Output& output : context.outputs) adopt(output);
      return {};
    }
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
  ComputeQueues queues_;
};

}  // namespace

Result<SimSettings> read_sim_settings(std::span<const DeviceSetting> from) {
  SimSettings settings;
  const struct {
    std::string_view name;
    double& value;
    double least;
  } known[] = {{"slowdown", settings.slowdown, 1},
               {"latency_us", settings.latency_us, 0},
               {"gbps", settings.gbps, 1e-6},
               {"direct", settings.direct, 0}};
  for (const DeviceSetting& one : from) {
    if (one.name == "times") {
      settings.times = one.value;
      continue;
    }
    const auto* setting = std::ranges::find(known, one.name, [](const auto& each) { return each.name; });
    if (setting == std::end(known)) {
      return fail("unknown setting '{}'; want slowdown=, latency_us=, gbps=, direct= or times=", one.text());
    }
    const char* end_of_number = one.value.data() + one.value.size();
    const auto [end, error] = std::from_chars(one.value.data(), end_of_number, setting->value);
    const bool whole = error == std::errc() && end == end_of_number;
    if (!whole || !std::isfinite(setting->value) || setting->value < setting->least) {
      return fail("setting '{}': want a number of at least {}", one.text(), setting->least);
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
