// What runs: a set of cores, or a device. The devices of the command line and the API are executors.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/core_set.h"
#include "device/executable.h"
#include "device/memory_space.h"
#include "device/queue.h"

namespace intarsia {

/// Has one memory space, which it may share with others. All calls may come from several threads at once.
class Executor {
 public:
  /// `cores`: those that its threads are held to; nothing: they run wherever their makers may.
  Executor(std::string name, std::string kind, std::shared_ptr<MemorySpace> space,
           std::optional<CoreSet> cores = {})
      : name_(std::move(name)), kind_(std::move(kind)), space_(std::move(space)), cores_(std::move(cores)) {}
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const std::string& name() const { return name_; }  // "sim:0"
  const std::string& kind() const { return kind_; }  // "sim"
  const std::shared_ptr<MemorySpace>& space() const { return space_; }
  /// Null: not held to any.
  const CoreSet* cores() const { return cores_ ? &*cores_ : nullptr; }

  /// What a loaded region is run as. `source_nodes`: names, none in a program without them.
  virtual Result<std::unique_ptr<Executable>> adapt(std::unique_ptr<Executable> region,
                                                    std::span<const std::string> source_nodes) {
    static_cast<void>(source_nodes);
    return region;
  }

  /// Runs it to its end in the calling thread. Every value of the context is in this executor's space.
  virtual Status run(const Executable& executable, const RunContext& context) {
    return executable.run(context);
  }

  /// For work beside the caller's thread: what computes, and what copies to and from the space.
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
