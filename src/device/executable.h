// The run-time contract of a backend: a blob becomes an Executable, which runs on the caller's buffers.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "base/thread_pool.h"
#include "device/memory_space.h"

namespace intarsia {

/// What an executable writes. When `dynamic` is false, `tensor` has its shape and memory and the callee fills
/// it. When `dynamic` is true the shape depends on data: the callee sets `tensor` and an `owner` that keeps
/// its memory alive. An opaque value (sequence, optional) has only an owner, which no other backend
/// understands.
struct Output {
  TensorView tensor;  // without data where the space has no addresses
  std::shared_ptr<void> owner;
  bool dynamic = false;
  Place place;  // outside the host's memory
};

struct Input {
  ConstTensorView tensor;       // without data where the space has no addresses
  std::shared_ptr<void> owner;  // set for opaque and dynamically shaped values
  Place place;                  // outside the host's memory
};

/// Called after a piece of work within a run, from the thread that did it. Times by clock_nanoseconds().
using TraceHook = std::function<void(std::string_view name, int64_t begin_ns, int64_t end_ns)>;

class Launcher;

/// An operator in a framework's own profile of a run.
struct OperatorTime {
  std::string label;  // "conv1: Conv": as far as the framework knows the name of a node, or of a value, and
                      // what it is
  int64_t nanoseconds = 0;
};

struct RunContext {
  std::span<const Input> inputs;
  std::span<Output> outputs;
  std::byte* workspace = nullptr;    // as many bytes as the region requested, 64-byte aligned
  ThreadTeam* threads = nullptr;     // on the executor's cores; null: run in the calling thread
  const TraceHook* trace = nullptr;  // set: an executable of several kernels reports each
  Place workspace_place{};           // outside the host's memory
  std::byte* scratch = nullptr;      // Executable::scratch_bytes(), 64-byte aligned; null: none
  bool is_profile =
      false;  // with trace: a framework reports its operators, too, which takes it runs of its own
  Launcher* launcher = nullptr;  // for code that was compiled for the device; null: the device is the host
};

/// Immutable: N threads may run one executable at once, each with its own context.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Fills the outputs. What is not dynamic gets exactly its dtype and shape, else the run is an error;
  /// inputs are only read. All is done when it returns.
  ///
  /// Threads: the calling one and those of `context.threads`. A framework has threads of its own, and parks
  /// ours first.
  ///
  /// Memory: code that a backend made for the region (halide) takes none when no output is dynamic. Kernels
  /// that are written to be read (reference), those of users, and frameworks may take some in every run; what
  /// our kernels took they have given back when it returns, all but the memory of dynamic outputs.
  virtual Status run(const RunContext& context) const = 0;

  /// What a run in so many threads needs besides the workspace, which is for as many as it was compiled for.
  virtual size_t scratch_bytes(int threads) const {
    static_cast<void>(threads);
    return 0;
  }

  /// (optional) Launches what a run would launch, on no values: `launcher` makes the kernels ready, and
  /// carries nothing out. So no run takes longer than others, and what a device refuses is known before.
  virtual Status prepare(Launcher& launcher) const {
    static_cast<void>(launcher);
    return {};
  }
};

/// What a backend's run half gets to make an executable. Everything outlives the executable.
struct LoadContext {
  std::span<const std::byte> blob;
  std::span<const ConstTensorView> constants;            // in the order of CompiledRegion::constants
  std::function<void*(const std::string& name)> symbol;  // address of a symbol in the program's code, or null
  std::string program_folder;  // folder of the program file: companion libraries are searched for there
  int threads = 1;
  size_t workspace_bytes = 0;                   // of RunContext::workspace
  const CoreSet* cores = nullptr;               // that its executor is held to; null: none
  std::string executor;                         // name of the one that is to run it: "cpu", "sim:0"
  std::span<const Place> constant_places = {};  // of the constants, outside the host's memory
};

/// An opaque value taken apart, as callers see it: an ONNX sequence, optional or map.
struct OpaqueParts {
  bool is_optional = false;
  bool is_sequence = false;  // with is_optional: an optional sequence
  bool is_map = false;
  bool is_absent = false;  // an optional without a value
  std::vector<Tensor>
      tensors;  // of a sequence its elements, of an optional its content, of a map keys, then values
};

/// A backend's run half.
struct RunBackend {
  std::string name;
  std::function<Result<std::unique_ptr<Executable>>(const LoadContext& context)> load;
  /// (optional) Opaque values at the boundary of the program. `encoded_type` is the value's serialized ONNX
  /// TypeProto.
  Result<OpaqueParts> (*unpack)(const std::shared_ptr<void>& value, std::string_view encoded_type) = nullptr;
  Result<std::shared_ptr<void>> (*pack)(const OpaqueParts& parts, std::string_view encoded_type) = nullptr;
  /// (optional) The names of devices that only it knows, as make_device() takes them. May open its library.
  std::vector<std::string> (*devices)() = nullptr;
};

}  // namespace intarsia
