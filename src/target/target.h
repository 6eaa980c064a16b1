// Compile-time contract of a backend: what it can compile and into what. A backend's other half is in
// device/executable.h; the two meet only in the blob.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/device_features.h"
#include "base/progress.h"
#include "graph/graph.h"
#include "target/code_cache.h"
#include "target/region_calls.h"
#include "target/tuner.h"

namespace intarsia {

/// Answer whether a backend can compile something, with the reason. Whether it should is up to the planner.
struct Support {
  bool yes = false;
  std::string because;  // reason for a no; empty if yes, or if nobody would ask
  static Support supported() { return {true, {}}; }
  static Support refused(std::string because) { return {false, std::move(because)}; }
};

/// Cost of code generation, over all regions of a compile.
struct CodegenReport {
  int kernels = 0;         // kernels generated, including variants that were measured
  int reused = 0;          // kernels whose code an earlier compile generated
  double cpu_seconds = 0;  // total CPU time
  std::string slowest;     // kernel that took longest
  double slowest_seconds = 0;
  std::vector<std::string> given_up;  // kernels that took too long, and why; they are computed in another way
};

struct CompileOptions {
  int threads = 1;             // threads that a run of the program will use
  std::string cpu = "native";  // CPU level: native, x86-64-v2, x86-64-v3, x86-64-v4
  bool exact_math =
      false;  // direct arithmetic only; if false, errors up to 1e-4 of the largest output are allowed
  DType rounds_to = DType::f32;  // type that products of f32 may round factors to: bf16, f16
  /// Most bytes that the region should take, at the cost of time: of its workspace and, unless they stay in
  /// flash, of its constants; 0: any number. The smallest region is made if none takes as little.
  uint64_t memory_bytes = 0;
  bool prefers_size = false;  // avoid all speedups that enlarge the program
  /// Whether a program in plain C makes the calls (CompiledRegion::calls): constants stay in flash, and
  /// nobody asks the system for tile registers (AMX).
  bool for_plain_c = false;
  Tuner* tuner = nullptr;              // null: analytic choices
  std::string timed_on = "cpu";        // device whose times choose kernels
  CodegenReport* codegen = nullptr;    // filled in unless null
  CodeCache* code_cache = nullptr;     // code of earlier compiles; null: none is kept
  std::function<bool()> is_cancelled;  // polled several times a second during code generation; empty: never
  Progress progress;                   // progress of compiling this region
  bool keep_names = true;              // whether the run half's data may reveal names of the source
  /// Whether the caller loads the region before use, so that the compiler need not try it in the framework.
  bool is_loaded_next = false;
  /// Callback that gets the result of each backend step (TargetInfo::step_names) as text; empty if not
  /// requested.
  std::function<void(std::string_view step, const std::string& text)> print_step = {};
};

/// Description of a kernel, for people and tools.
struct KernelNote {
  std::vector<std::string> nodes;  // source nodes, the one that it is named after first
  DType dtype = DType::undefined;  // dtype of its output
  std::optional<Shape> shape;      // shape of its output
  Shape weights;                   // shape of a contraction's weights; empty if it has none
  uint64_t operations = 0;         // operations of its products; a multiply and an add count as two
  uint64_t bytes = 0;              // bytes read and written, each counted once; 0 if unknown
  std::string algorithm;           // "winograd 4x4"
};

/// Growth of a region's weights compared to the model.
struct WeightGrowth {
  std::string why;  // "winograd", "padding"
  uint64_t bytes = 0;
};

/// Part of the workspace of a region with open sizes, used from one of its steps to another.
struct OpenWorkspace {
  Dim bytes = 0;
  int first = 0, last = 0;
};

/// Value in a region's workspace.
struct LiveValue {
  std::string node;  // source node that makes it
  uint64_t bytes = 0;
  bool operator==(const LiveValue&) const = default;
};

/// Result of compiling a region.
struct CompiledRegion {
  std::string blob;  // opaque except to the backend's run half
  std::vector<Tensor>
      constants;  // weights in the form for the run half; equal ones are stored once in the program
  std::vector<std::string> object_files;  // bytes of ELF objects to link into the program
  size_t workspace_bytes = 0;             // 64-byte aligned scratch memory that one run of the region needs
  /// Parts beyond it, whose bytes depend on open sizes; for figures.
  std::vector<OpenWorkspace> open_workspace = {};
  int kernels = 0;  // number of kernels, for the report
  /// Features of the CPU, by GCC's names, that the code needs besides those of CompileOptions::cpu.
  std::vector<std::string> cpu_features = {};
  /// Notes on the kernels that a run reports to RunContext::trace, in that order; empty if unknown.
  std::vector<KernelNote> notes = {};
  /// Values that are in the workspace at the same time when they take most, the largest first; empty if
  /// unknown.
  std::vector<LiveValue> peak = {};
  size_t scratch_bytes = 0;                // part of the workspace in which kernels keep copies and the like
  size_t stack_bytes = 0;                  // most that one of its kernels takes of the stack; 0: unknown
  std::vector<WeightGrowth> growths = {};  // growth by reason; empty if unknown or none
  /// Calls of its kernels, for programs in plain C (CompileOptions::for_plain_c); null if only the run half
  /// can make them.
  std::shared_ptr<const RegionCalls> calls = {};
};

/// Device that a region will run on.
struct TargetDevice {
  std::string kind = "cpu";
  std::string name = "cpu";  // "cpu:0-1", "sim:0"
  DeviceFeatures features = {};
  /// Returns the model. Backends answer alike for devices of one model; all core sets share one, as do all
  /// simulations.
  const std::string& model() const { return kind == "cpu" || kind == "sim" ? kind : name; }
};

/// Properties of a backend that do not depend on the model.
struct TargetInfo {
  std::string name;
  std::vector<std::string> device_kinds = {"cpu", "sim"};  // kinds that it can compile for; empty: any
  /// Version of its code generation for a given library version; a new one invalidates measured times of its
  /// code. Empty if its code depends on the library alone.
  std::string code_generation = {};
  bool needs_framework = false;  // programs with its regions need the framework of this name to run
  /// Whether its run half allocates the memory of all its results, so that they are adopted, not written in
  /// place.
  bool makes_outputs = false;
  /// Whether all its regions in a process share one thread pool, pinned to one core set
  /// (base/threads/pool_cores.h).
  bool has_one_pool = false;
  /// Whether its kernels are the user's own, so that nodes stay with it even if another backend is faster.
  bool is_users_own = false;
  /// Whether it is written for readability, not speed: it gets only nodes that no other backend takes.
  bool is_unoptimized = false;
  /// Whether it belongs to a plug-in; programs with its regions record its version.
  bool is_plugin = false;
  /// Whether some of its nodes move only together (Target::groups).
  bool has_groups = false;
  /// Whether its regions on devices of its own take sizes that are open.
  bool takes_open_sizes = true;
  /// Whether its nodes are steps of the program, which run their subgraphs; each becomes functions of its
  /// own.
  bool runs_bodies = false;
  /// Whether its devices work in host memory.
  bool is_on_host = false;
  size_t alignment = 64;                     // alignment of values in its devices' memory: a power of 2
  std::vector<std::string> step_names = {};  // steps of compile with printable results, in order

  /// Checks for a backend of the project: neither a framework's nor a plug-in's.
  bool is_native() const { return !needs_framework && !is_plugin; }
};

inline constexpr size_t no_group = ~size_t{0};

/// Compile half of a backend. Immutable after construction; one object serves all devices that the backend
/// can drive.
class Target {
 public:
  explicit Target(TargetInfo info) : info_(std::move(info)) {}
  virtual ~Target() = default;

  const TargetInfo& info() const { return info_; }
  const std::string& name() const { return info_.name; }
  /// Returns the version of the underlying library, for reports and cost keys. May open it.
  virtual std::string version() const { return {}; }
  /// Returns the memory of a device in bytes; 0 if unknown or bounded only by the host.
  virtual uint64_t memory_bytes(const std::string& device) const {
    (void)device;
    return 0;
  }
  /// Checks whether a value of this type that one of its regions produces can be read by another region.
  virtual bool hands_over(const ValueType& type) const { return !type.opaque; }
  /// Checks whether it can compile the node for `device`, which is of one of its kinds.
  virtual Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const = 0;
  /// (optional) Checks whether a supported node goes only in regions whose values have one open size, that of
  /// its outputs.
  virtual bool wants_one_open_size(const Graph& graph, NodeId node) const {
    (void)graph, (void)node;
    return false;
  }
  /// (optional) Checks whether a supported node ends its region: sizes of its outputs are known only after
  /// the region ran, so that other nodes read them in a later one.
  virtual bool ends_region(const Graph& graph, NodeId node) const {
    (void)graph, (void)node;
    return false;
  }
  /// (optional) Returns groups of nodes that move only together between devices: the group number of each
  /// node, or `no_group`; empty if there are no groups.
  virtual Result<std::vector<size_t>> groups(const Graph& graph, const TargetDevice& device) const {
    (void)graph, (void)device;
    return std::vector<size_t>();
  }
  /// (optional) Sets the output types of an operator that the op table lacks; leaves them as they are if it
  /// cannot.
  virtual Status infer_types(Graph& graph, NodeId node) const {
    (void)graph, (void)node;
    return {};
  }
  /// (optional) Returns the axis order in storage of each output of the region, if only regions of this
  /// backend read it; an ascending order is that of the model.
  virtual Result<std::vector<AxisOrder>> output_layouts(const Graph& region) const {
    return std::vector<AxisOrder>(region.outputs.size());
  }
  /// Compiles `region`, a complete graph whose inputs and outputs are the boundary, in the order in which the
  /// run half gets them. All its nodes are supported.
  virtual Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                         const CompileOptions& options) const = 0;

 protected:
  TargetInfo info_;
};

/// Checks whether the backend can compile for devices of the kind.
bool drives(const Target& target, const std::string& device_kind);

}  // namespace intarsia
