// Programs that op nodes run, with their sessions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/tensorflow/data_types.h"
#include "bindings/tensorflow/library.h"

namespace intarsia::op {

/// Input or output of a function.
struct Argument {
  std::string name;
  const DataType* type = nullptr;
};

struct Function {
  std::string name;
  std::vector<Argument> inputs, outputs;
};

/// Options of an op node that its sessions depend on.
struct Options {
  int threads = 0;                                            // 0: as many as default_threads()
  std::vector<std::pair<std::string, std::string>> bindings;  // slot, device
  bool operator==(const Options&) const = default;
};

/// Returns TF_NUM_INTRAOP_THREADS, if it is set, else the number of cores that this process may use.
int default_threads();

/// Program bound with some options. Nodes with the same program and options share it, and it is freed with
/// the last of them.
class Artifact {
 public:
  /// Opens the program in a file, given by its path, or in bytes. Throws a Failure.
  static std::shared_ptr<const Artifact> open(std::string_view path_or_bytes, const Options& options);
  ~Artifact();
  Artifact(const Artifact&) = delete;
  Artifact& operator=(const Artifact&) = delete;

  /// Returns a function; an empty name means the only one. Throws a Failure that lists the known names.
  const Function& function(const std::string& name) const;
  /// Returns its sessions; a run in them never waits for another one.
  intarsia_pool* pool() const { return pool_; }

 private:
  Artifact() = default;
  Options options_;
  const void* identity_ = nullptr;  // what programs with the same code and constants have in common
  std::vector<Function> functions_;
  intarsia_program* program_ = nullptr;
  intarsia_pool* pool_ = nullptr;
};

}  // namespace intarsia::op
