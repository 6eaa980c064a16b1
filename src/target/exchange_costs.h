// Times of kernels from and for other machines: from the cost table to a file, and back.
#pragma once

#include <string>

#include "base/result.h"
#include "target/cost_file.h"
#include "target/target.h"

namespace intarsia {

/// Request for one of both ways.
struct CostExchange {
  std::string path;    // of the file
  std::string folder;  // of the cost table
  /// Processor that exported kernels are for, as with --cpu: one that this machine runs, or one that times
  /// were imported for.
  std::string cpu = "native";
};

/// Writes the times of all kernels that this version of `generator` generates. Returns what is in the file.
/// Errors: there are none, or the file cannot be written.
Result<CostFile> export_costs(const CostExchange& exchange, const Target& generator);

/// Numbers of imported kernels.
struct ImportedCosts {
  CostFile file;
  size_t known = 0;     // kernels whose times were there already, and the same
  std::string warning;  // problem with the table's file
};

/// Adds the times of a file, all or none. Those of another machine are used by compiles for its processor.
/// Errors: a file that is damaged, or that no compile here could use: of another version of `generator`, of
/// native code of another machine, or for a processor whose code is measured here.
Result<ImportedCosts> import_costs(const CostExchange& exchange, const Target& generator);

}  // namespace intarsia
