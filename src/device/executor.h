// Executors: sets of cores, or devices. The devices of the command line and the API are executors.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/core_set.h"
#include "device/executable.h"
#include "device/memory_space.h"
#include "device/queue.h"

namespace intarsia {

/// Executor of regions. It has one memory space, which it may share with others. Thread-safe.
class Executor {
 public:
  /// Pins its threads to `cores`; if these are nullopt, threads run wherever their creators may.
  Executor(std::string name, std::string kind, std::shared_ptr<MemorySpace> space,
           std::optional<CoreSet> cores = {})
      : name_(std::move(name)), kind_(std::move(kind)), space_(std::move(space)), cores_(std::move(cores)) {}
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const std::string& name() const { return name_; }  // "sim:0"
  const std::string& kind() const { return kind_; }  // "sim"
  const std::shared_ptr<MemorySpace>& space() const { return space_; }
  /// Returns the cores that it is pinned to, or null.
  const CoreSet* cores() const { return cores_ ? &*cores_ : nullptr; }

  /// Returns the number of runs that it executes at once, each in its own thread; further runs wait.
  virtual uint32_t queues() const { return 1; }

  /// Whether it has failed for good; its device may work again if reopened by name.
  virtual bool is_lost() const { return false; }

  /// Wraps a loaded region for this executor. `source_nodes` are names; a program may lack them.
  virtual Result<std::unique_ptr<Executable>> adapt(std::unique_ptr<Executable> region,
                                                    std::span<const std::string> source_nodes) {
    static_cast<void>(source_nodes);
    return region;
  }

  /// Runs a region to its end in the calling thread. All values of the context are in this executor's space.
  virtual Status run(const Executable& executable, const RunContext& context) {
    return executable.run(context);
  }

  /// Queues for work outside the caller's thread: computing, and copies to and from the space.
  Queue& compute_queue() { return compute_queue_; }
  Queue& copy_queue() { return copy_queue_; }

 private:
  std::string name_;
  std::string kind_;
  std::shared_ptr<MemorySpace> space_;
  std::optional<CoreSet> cores_;
  Queue compute_queue_, copy_queue_;
};

}  // namespace intarsia
