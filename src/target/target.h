// The compile-time contract of a backend: what it can compile and into what. A backend's other half is in
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
#include "target/tuner.h"

namespace intarsia {

/// *Can* is a fact and comes with its reason; *should* is the planner's decision alone.
struct Support {
  bool yes = false;
  std::string because;  // why not; empty when yes
  static Support supported() { return {true, {}}; }
  static Support refused(std::string because) { return {false, std::move(because)}; }
};

/// What code generation took, over all regions of a compile.
struct CodegenReport {
  int kernels = 0;         // that code was generated for, including variants that were measured
  double cpu_seconds = 0;  // of all
  std::string slowest;     // the kernel that took longest
  double slowest_seconds = 0;
  std::vector<std::string> given_up;  // kernels that took too long, and why; they are computed another way
};

struct CompileOptions {
  int threads = 1;             // threads that a run of the program will use
  std::string cpu = "native";  // CPU level: native, x86-64-v2, x86-64-v3, x86-64-v4
  bool exact_math =
      false;  // direct arithmetic only; else errors up to 1e-4 of the largest output are allowed
  bool prefers_size = false;           // nothing that makes the program larger to be faster
  Tuner* tuner = nullptr;              // null: analytic choices
  std::string timed_on = "cpu";        // the device whose times choose kernels
  CodegenReport* codegen = nullptr;    // filled in if given
  std::function<bool()> is_cancelled;  // polled several times a second during code generation; empty: never
  Progress progress;                   // of compiling this region
  bool keep_names = true;              // false: nothing that the run half gets reveals names of the source
  /// The caller loads the region before it is used: whether a framework takes it needs not be tried here.
  bool is_loaded_next = false;
  /// Receives the text of the result of each of the backend's steps (TargetInfo::step_names); empty: not
  /// requested.
  std::function<void(std::string_view step, const std::string& text)> print_step = {};
};

/// What a kernel computes, for people and tools.
struct KernelNote {
  std::vector<std::string> nodes;  // of the source, the one that it is named for first
  DType dtype = DType::undefined;  // of its output
  std::optional<Shape> shape;      // of its output
  Shape weights;                   // shape of a contraction's; empty: it has none
  uint64_t operations = 0;         // of its products, a multiply and an add counted as two
  uint64_t bytes = 0;              // that it reads and writes, each once; 0: not known
  std::string algorithm;           // "winograd 4x4"
};

/// How much more the weights of a region take than they do in the model.
struct WeightGrowth {
  std::string why;  // "winograd", "padding"
  uint64_t bytes = 0;
};

/// What a region becomes.
struct CompiledRegion {
  std::string blob;  // opaque to all but the backend's run half
  std::vector<Tensor>
      constants;  // weights as the run half wants them; equal ones are stored once in the program
  std::vector<std::string> object_files;  // bytes of ELF objects to link into the program
  size_t workspace_bytes = 0;             // 64-byte aligned scratch memory that one run of the region needs
  int kernels = 0;                        // for the report
  /// For each kernel that a run reports to RunContext::trace, in that order; none: not known.
  std::vector<KernelNote> notes = {};
  std::vector<WeightGrowth> growths = {};  // by reason; none: not known, or they do not grow
};

/// Where a region is to run.
struct TargetDevice {
  std::string kind = "cpu";
  std::string name = "cpu";  // "cpu:0-1", "sim:0"
  DeviceFeatures features = {};
  /// Backends answer the same for devices of one model: all core sets are, and all simulations.
  const std::string& model() const { return kind == "cpu" || kind == "sim" ? kind : name; }
};

/// What a backend is and what it can do, whatever the model.
struct TargetInfo {
  std::string name;
  std::vector<std::string> device_kinds = {"cpu", "sim"};  // that it can compile for; none: any
  /// Version of the code that it generates with one version of its library; a new number invalidates measured
  /// times of its code.
  int code_generation = 0;
  bool needs_framework = false;  // programs with regions of it need a framework of this name where they run
  /// Its run half allocates the memory of all its results itself, so they are adopted, not written in place.
  bool makes_outputs = false;
  /// All its regions in a process share one pool of threads, which is held to one core set
  /// (base/pool_cores.h).
  bool has_one_pool = false;
  /// The user brought its kernels, so nodes stay with it even where another backend is faster.
  bool is_users_own = false;
  /// Written to be read, not to be fast: it runs what no other backend takes, and nothing else is given to
  /// it.
  bool is_unoptimized = false;
  /// It is of a plug-in: programs with regions of it record its version.
  bool is_plugin = false;
  /// Some of its nodes move only together (Target::groups).
  bool has_groups = false;
  std::vector<std::string> step_names = {};  // of compile, in order, whose results can be printed
};

inline constexpr size_t no_group = ~size_t{0};

/// A backend's compile half. Immutable after construction; one object serves all devices the backend can
/// drive.
class Target {
 public:
  explicit Target(TargetInfo info) : info_(std::move(info)) {}
  virtual ~Target() = default;

  const TargetInfo& info() const { return info_; }
  const std::string& name() const { return info_.name; }
  /// Version of the underlying library, for reports and cost keys. May open it.
  virtual std::string version() const { return {}; }
  /// Can a value of this type, produced by one of its regions, be read by another one?
  virtual bool hands_over(const ValueType& type) const { return !type.opaque; }
  /// `device` is of one of its kinds.
  virtual Support supports(const Graph& graph, NodeId node, const TargetDevice& device) const = 0;
  /// (optional) Which nodes move only together between devices: by node the number of its group, `no_group`
  /// where it has none; empty: there are no groups.
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
  /// (optional) How each of the region's outputs would lie if only regions of this backend read it: its axes
  /// as storage has them; sorted: as in the model.
  virtual Result<std::vector<AxisOrder>> output_layouts(const Graph& region) const {
    return std::vector<AxisOrder>(region.outputs.size());
  }
  /// `region` is a complete graph whose inputs and outputs are the boundary, in the order in which the run
  /// half gets them. Every node in it is supported.
  virtual Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                         const CompileOptions& options) const = 0;

 protected:
  TargetInfo info_;
};

/// Whether the backend can compile for devices of the kind.
bool drives(const Target& target, const std::string& device_kind);

}  // namespace intarsia
