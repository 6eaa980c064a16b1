// Run-time contract of a backend: a blob becomes an Executable, which runs on the caller's buffers.
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
#include "base/threads/thread_pool.h"
#include "device/memory_space.h"

namespace intarsia {

/// Output of an executable. If `dynamic` is false, `tensor` has its shape and memory and the callee fills it.
/// If `dynamic` is true, the shape depends on data: the callee sets `tensor` and an `owner` that keeps its
/// memory alive. An opaque value (sequence, optional) has only an owner, which only its backend understands.
/// Where the caller has memory for the shape that it expects, the callee may write it there instead.
struct Output {
  TensorView tensor;  // data is null if the space has no addresses
  std::shared_ptr<void> owner;
  bool dynamic = false;
  Place place;           // set outside host memory
  TensorView offered{};  // memory for a dynamic output of this shape, aligned to elements; null: none
};

struct Input {
  ConstTensorView tensor;       // data is null if the space has no addresses
  std::shared_ptr<void> owner;  // set for opaque and dynamically shaped values
  Place place;                  // set outside host memory
};

/// Callback after a piece of work within a run, on the thread that did it. Times are by clock_nanoseconds().
using TraceHook = std::function<void(std::string_view name, int64_t begin_ns, int64_t end_ns)>;

class Launcher;

/// Operator in a framework's own profile of a run.
struct OperatorTime {
  std::string label;  // "conv1: Conv": name of the node or value, and its operator, as far as the framework
                      // knows them
  int64_t nanoseconds = 0;
};

/// Names of open sizes, and their values in a run.
struct OpenSizes {
  std::span<const std::string> names;
  std::span<const int64_t> sizes;  // as many as there are names
};

struct RunContext {
  std::span<const Input> inputs;
  std::span<Output> outputs;
  std::byte* workspace = nullptr;    // bytes that the region requested, 64-byte aligned
  ThreadTeam* threads = nullptr;     // team on the executor's cores; null: run in the calling thread
  const TraceHook* trace = nullptr;  // hook for each kernel of an executable with several; null: none
  Place workspace_place{};           // workspace outside host memory
  std::byte* scratch = nullptr;      // Executable::scratch_bytes(), 64-byte aligned; null: none
  bool is_profile = false;  // profiling (needs trace): a framework also reports its operators, in extra runs
  Launcher* launcher = nullptr;  // launcher for code compiled for the device; null: the device is the host
  OpenSizes open_sizes = {};     // sizes of the program's inputs in this run
};

/// Loaded region, ready to run. Immutable: N threads may run it at once, each with its own context.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Fills the outputs; inputs are only read. All work is done when it returns. Error: an output that is not
  /// dynamic would not get its dtype and shape.
  ///
  /// Threads: the calling one and those of `context.threads`. A framework has threads of its own and parks
  /// ours first.
  ///
  /// Memory: code generated for the region (halide) allocates none if no output is dynamic. Kernels written
  /// for readability (reference), users' kernels and frameworks may allocate in every run; our kernels have
  /// freed their memory, except for dynamic outputs, when it returns.
  virtual Status run(const RunContext& context) const = 0;

  /// Returns the bytes that a run in `threads` threads needs besides the workspace, whose size is for the
  /// thread count at compile time.
  virtual size_t scratch_bytes(int threads) const {
    static_cast<void>(threads);
    return 0;
  }

  /// Whether the workspace depends on the sizes of a run: then open_workspace_bytes() tells its size.
  virtual bool has_open_workspace() const { return false; }
  /// Returns the bytes of RunContext::workspace for a run with these open sizes of the program. Errors: the
  /// region does not work with these sizes.
  virtual Result<uint64_t> open_workspace_bytes(const OpenSizes& sizes) const {
    static_cast<void>(sizes);
    return 0;
  }

  /// Whether a run works where the memory of an output, both by number, begins at the address of an input:
  /// the run leaves the input's bytes as they are and writes what follows them.
  virtual bool appends(size_t input, size_t output) const {
    static_cast<void>(input);
    static_cast<void>(output);
    return false;
  }

  /// (optional) Launches the kernels of a run without values: `launcher` makes them ready and executes
  /// nothing. Thus the first run takes no longer than others, and refusals by the device are known early.
  virtual Status prepare(Launcher& launcher) const {
    static_cast<void>(launcher);
    return {};
  }
};

/// Input of a backend's run half for making an executable. Everything outlives the executable.
struct LoadContext {
  std::span<const std::byte> blob;
  std::span<const ConstTensorView> constants;            // ordered as CompiledRegion::constants
  std::function<void*(const std::string& name)> symbol;  // address of a symbol in the program's code, or null
  std::string program_folder;  // folder of the program file: companion libraries are searched for there
  int threads = 1;
  size_t workspace_bytes = 0;                   // size of RunContext::workspace
  const CoreSet* cores = nullptr;               // cores that its executor is pinned to; null: none
  std::string executor;                         // name of the executor that will run it: "cpu", "sim:0"
  std::span<const Place> constant_places = {};  // places of the constants, outside host memory
};

/// Parts of an opaque value, as callers see it: an ONNX sequence, optional or map.
struct OpaqueParts {
  bool is_optional = false;
  bool is_sequence = false;  // optional sequence, if is_optional is set
  bool is_map = false;
  bool is_absent = false;  // optional without a value
  std::vector<Tensor>
      tensors;  // elements of a sequence, content of an optional, or keys and then values of a map
};

/// Run half of a backend.
struct RunBackend {
  std::string name;
  std::function<Result<std::unique_ptr<Executable>>(const LoadContext& context)> load;
  /// (optional) Conversion of opaque values at the boundary of the program. `encoded_type` is the value's
  /// serialized ONNX TypeProto.
  Result<OpaqueParts> (*unpack)(const std::shared_ptr<void>& value, std::string_view encoded_type) = nullptr;
  Result<std::shared_ptr<void>> (*pack)(const OpaqueParts& parts, std::string_view encoded_type) = nullptr;
  /// (optional) Lists names of devices that only this backend knows, for make_device(). May open its library.
  std::vector<std::string> (*devices)() = nullptr;
  /// Whether it searches LoadContext::program_folder.
  bool searches_folder = false;
};

}  // namespace intarsia
