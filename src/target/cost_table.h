// Table of measured costs in an SQLite file that processes share. Rows belong to a machine (machine_name.h);
// those of other machines stay untouched. Losing the file costs time, never correctness, so a problem with it
// is only a warning.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "target/shared_database.h"
#include "target/timing.h"

namespace intarsia {

/// Kind of the timed work. `region` is one of several competing regions; `part` is a region within the run of
/// a whole plan; `node` is a group of nodes timed as one inside a region.
enum class CostKind { kernel, region, part, node, plan };

/// Key of a row: on one machine, equal keys mean equal code.
struct CostKey {
  CostKind kind = CostKind::kernel;
  std::string digest;   // content_digest of operators, attributes, types and sizes; no names, no node numbers
  std::string backend;  // "halide"; for a plan, the backends of all its regions: "halide+onnxruntime"
  std::string version;  // version of the backend's library
  std::string code;     // version of our code generation, and what it depends on besides the content
  std::string device;   // model of the device; "cpu" is the CPU of the machine
  int threads = 1;      // threads of the program
  std::string precision;   // type that a kernel computes, else the allowed arithmetic
  std::string sizes = {};  // numbers that open sizes had: "batch=8,seq=16"; empty if all sizes are fixed
  auto operator<=>(const CostKey&) const = default;
};

/// Measured cost; by default that of work that never runs.
struct Cost {
  Timing timing;                  // timing of a run
  int64_t probe_nanoseconds = 0;  // time of the probe (measure/probe.h) measured with it; 0 if none was
  int64_t at = 0;                 // milliseconds since 1970; the same for all costs measured together
  std::string fault = {};  // reason never to ship it: its failure or wrong result; empty if none is known
  bool operator==(const Cost&) const = default;
};

/// Makes a row for a measurement now, before its timing is set.
Cost cost_measured_now(int64_t probe_nanoseconds);

/// Cost of a copy from one memory space to another.
struct LinkCost {
  double latency_ns = 0, ns_per_byte = 0;
  int64_t at = 0;  // time of measurement, in milliseconds since 1970
  bool operator==(const LinkCost&) const = default;
};

/// Machine elsewhere whose times, imported from a file, compiles for a processor use.
struct ImportedTimes {
  std::string machine;  // by its own description
  int64_t at = 0;       // time of the import, in milliseconds since 1970
};

/// Cost table. An object is for one thread at a time; many processes and threads may open the same file.
class CostTable {
 public:
  /// Opens `folder`/costs.sqlite; creates it if absent. A file of another format stays, and ours is created
  /// next to it. A damaged file is moved away and started over. A file that cannot be used now (no space, no
  /// permission, locked by another process for more than `busy_milliseconds`) stays, and rows live as long as
  /// this object. `warning` reports such problems.
  explicit CostTable(const std::string& folder, int busy_milliseconds = 10000);

  /// Makes all that follows about the rows of another machine than this one.
  void set_machine(std::string machine) { machine_ = std::move(machine); }
  const std::string& machine() const { return machine_; }

  /// Finds the rows of those keys that have one, with a single query.
  std::map<CostKey, Cost> find(std::span<const CostKey> keys);
  /// Adds all rows or none; replaces existing ones. Disturbed times live only as long as this object. If rows
  /// cannot be stored, `warning` says so.
  void add(std::span<const std::pair<CostKey, Cost>> rows);

  /// Returns the rows of kernels that one version of a backend generated and that run on the processor, by
  /// digest.
  std::vector<std::pair<CostKey, Cost>> list_kernels(const std::string& backend, const std::string& version,
                                                     const std::string& code);
  /// Adds rows and, unless `cpu` is empty, makes the table's machine the one whose times compiles for this
  /// processor use in place of measuring: all of it or nothing. Error: they cannot be stored.
  Status import(const std::string& cpu, std::span<const std::pair<CostKey, Cost>> rows);
  /// Returns the machine whose times were imported last for `cpu`.
  std::optional<ImportedTimes> find_imported(const std::string& cpu);

  std::optional<LinkCost> find_link(const std::string& from_space, const std::string& to_space);
  void add_link(const std::string& from_space, const std::string& to_space, const LinkCost& cost);

  const std::string& warning() const { return warning_; }

 private:
  void warn(const std::string& why);
  bool insert(std::span<const std::pair<CostKey, Cost>> rows);

  SharedDatabase file_;
  std::string machine_;
  std::map<CostKey, Cost> disturbed_;
  std::string warning_;
};

}  // namespace intarsia
