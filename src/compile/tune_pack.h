// Folder with kernels and a program that times them on another machine.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/architecture.h"
#include "base/result.h"
#include "target/kernel_timer.h"
#include "target/tuner.h"

namespace intarsia {

/// Kernels of one processor, taken from a compile (CompileServices::take_kernels).
class TunePack {
 public:
  /// Adds the kernels of a batch that are not there yet.
  void take(const KernelBatch& batch);
  size_t kernels() const { return keys_.size(); }

  /// Writes the folder, which is there whole or not at all: `kernels.so`, the list `kernels.txt`, the program
  /// `timer` with its sources, and `run.sh`, which writes `times.json` on that machine. `cpu` is the
  /// processor, as with --cpu. Errors: the folder exists and is not empty, or cannot be written.
  Status write(const std::string& folder, const std::string& cpu, Arch arch, const KernelTimer& timer) const;

 private:
  void add_batch(const KernelBatch& batch, const std::vector<const TimedKernel*>& kernels);
  std::string print_list(const std::string& cpu, Arch arch) const;

  std::set<CostKey> keys_;
  std::set<std::string> known_objects_;
  std::vector<std::string> objects_;  // each once
  std::string batches_;               // text in kernels.txt
  size_t batch_count_ = 0;
  int threads_ = 1;  // the most of any kernel
};

/// Checks that a folder can be made there. Error: something is in the way, unless it is an empty folder.
Status check_new_folder(const std::string& folder);

}  // namespace intarsia
