// The compile-time contract of a backend: what it can compile and into what. A backend's other half is in
// device/executable.h; the two meet only in the blob.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

/// What making code came to, over all regions of a compile.
struct CodegenReport {
  int kernels = 0;         // that code was made for, variants that were measured among them
  double cpu_seconds = 0;  // of all
  std::string slowest;     // the kernel that took longest
  double slowest_seconds = 0;
  std::vector<std::string>
      given_up;  // kernels that took too long, and why; another way to compute them was taken
};

struct CompileOptions {
  int threads = 1;             // threads that a run of the program will use
  std::string cpu = "native";  // CPU level: native, x86-64-v2, x86-64-v3, x86-64-v4
  bool exact_math =
      false;               // direct arithmetic only; else errors up to 1e-4 of the largest output are allowed
  Tuner* tuner = nullptr;  // null: analytic choices
  CodegenReport* codegen = nullptr;    // filled in where it is given
  std::function<bool()> is_cancelled;  // asked several times a second while code is made; empty: never
  Progress progress;                   // of compiling this region
  bool keep_names = true;              // false: nothing that the run half gets tells names of the source
  /// Gets the text of what each of the backend's steps made (Target::step_names); empty: nobody asks.
  std::function<void(std::string_view step, const std::string& text)> print_step = {};
};

/// What a region becomes.
struct CompiledRegion {
  std::string blob;               // opaque to all but the backend's run half
  std::vector<Tensor> constants;  // weights as the run half wants them; stored once by content in the program
  std::vector<std::string> object_files;  // bytes of ELF objects to link into the program
  size_t workspace_bytes = 0;             // 64-byte aligned scratch that one run of the region needs
  int kernels = 0;                        // for the report
};

/// A backend's compile half. Immutable after construction; one object serves all devices the backend can
/// drive.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::string name() const = 0;
  /// Version of the library behind it, for reports and cost keys.
  virtual std::string version() const { return {}; }
  /// Number of the code that it makes with one version of that library; another number, and times of its code
  /// are worth nothing.
  virtual int code_generation() const { return 0; }
  /// True: programs with regions of it need a framework of this name where they run.
  virtual bool needs_framework() const { return false; }
  /// True: its run half makes the memory of all its results itself, so they are adopted, not written in
  /// place.
  virtual bool makes_outputs() const { return false; }
  /// True: the user brought its kernels, so that nodes stay with it even where another backend is faster.
  virtual bool is_users_own() const { return false; }
  /// Can a value of this type, made by one region of it, be read by another one?
  virtual bool hands_over(const ValueType& type) const { return !type.opaque; }
  /// Device kinds ("cpu", "sim") that it can compile for.
  virtual bool supports_device(const std::string& kind) const = 0;
  virtual Support supports(const Graph& graph, NodeId node) const = 0;
  /// (optional) Sets the output types of an operator that the op table lacks; leaves them as they are when it
  /// cannot.
  virtual Status infer_types(Graph& graph, NodeId node) const {
    (void)graph, (void)node;
    return {};
  }
  /// (optional) The steps of compile, in order, whose results can be printed.
  virtual std::vector<std::string> step_names() const { return {}; }
  /// `region` is a complete graph whose inputs and outputs are the boundary, in the order in which the run
  /// half gets them. Every node in it was said to be supported.
  virtual Result<CompiledRegion> compile(const Graph& region, const CompileOptions& options) const = 0;
};

}  // namespace intarsia
