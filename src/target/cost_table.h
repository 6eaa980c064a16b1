// What was measured: a table in an SQLite file that processes share. Rows belong to a machine
// (machine_name.h); those of other machines are left alone. Losing it costs time, never correctness, so a
// problem with the file is only a warning.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "target/timing.h"

struct sqlite3;

namespace intarsia {

/// What was timed. `region`: one of several that compete; `part`: one in the run of a whole plan; `node`:
/// nodes that were timed as one inside a region.
enum class CostKind { kernel, region, part, node, plan };

/// What a row is of: the same key, the same code, here.
struct CostKey {
  CostKind kind = CostKind::kernel;
  std::string digest;   // content_digest of operators, attributes, types and sizes; no names, no node numbers
  std::string backend;  // "halide"; of a plan those of all its regions, "halide+onnxruntime"
  std::string version;  // of the backend's library
  std::string code;     // of our code generation, and what it depends on besides the content
  std::string device;   // model of the device; "cpu" is the machine's
  int threads = 1;      // of the program
  std::string precision;  // of a kernel the type that it computes, else the arithmetic that is allowed
  auto operator<=>(const CostKey&) const = default;
};

/// By default: it never runs.
struct Cost {
  Timing timing;                  // of a run
  int64_t probe_nanoseconds = 0;  // of the probe (measure/probe.h) measured beside it; 0: none was
  int64_t at = 0;  // when, in milliseconds since 1970; the same of all that was measured together
  std::string fault =
      {};  // why it never ships: what it fails with, or computes wrong; empty: nothing is known
  bool operator==(const Cost&) const = default;
};

/// The row of what is measured now, before its timing is set.
Cost cost_measured_now(int64_t probe_nanoseconds);

/// What a copy from one memory space to another takes.
struct LinkCost {
  double latency_ns = 0, ns_per_byte = 0;
  int64_t at = 0;  // when it was measured, in milliseconds since 1970
  bool operator==(const LinkCost&) const = default;
};

/// One thread uses an object at a time; any number of processes and threads have objects of one file.
class CostTable {
 public:
  /// `folder`/costs.sqlite, created if absent. A file of another format is left alone, and ours is created
  /// next to it. A damaged one is moved away and started over. One that cannot be used now (no space, no
  /// permission, locked by another process for more than `busy_milliseconds`) is left alone, and rows live
  /// as long as this object. `warning` says so.
  explicit CostTable(const std::string& folder, int busy_milliseconds = 10000);

  /// Those of the keys that have a row. One query, however many keys.
  std::map<CostKey, Cost> find(std::span<const CostKey> keys);
  /// All or none of them; existing rows are replaced. Times that were disturbed live as long as this object.
  /// If rows cannot be kept, `warning` says so.
  void add(std::span<const std::pair<CostKey, Cost>> rows);

  std::optional<LinkCost> find_link(const std::string& from_space, const std::string& to_space);
  void add_link(const std::string& from_space, const std::string& to_space, const LinkCost& cost);

  const std::string& warning() const { return warning_; }

 private:
  enum class Opened { ready, damaged, other_format, unusable };
  Opened open(const std::string& path);
  bool open_or_replace(const std::string& path);
  void warn(const std::string& why);

  int busy_milliseconds_;
  std::string path_;  // of the file; empty: there is no file
  std::shared_ptr<sqlite3> file_;
  std::string machine_;
  std::map<CostKey, Cost> disturbed_;
  std::string warning_;
};

}  // namespace intarsia
