// Measured times, kept between compiles: an SQLite file that processes share. A time belongs to a machine
// (its CPU and number of cores); those of other machines are left alone. Losing it costs time, never
// correctness, so a problem with the file is only a warning.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct sqlite3;

namespace intarsia {

class CostDatabase {
 public:
  /// `folder`/costs.sqlite, created if absent. A file of another format is left alone, and ours is created
  /// next to it. A damaged one is moved away and started over. One that cannot be used now (no space, no
  /// permission, locked by another process for more than `busy_milliseconds`) is left alone, and times live
  /// as long as this object. `warning` says so.
  explicit CostDatabase(const std::string& folder, int busy_milliseconds = 10000);

  /// Nanoseconds of what `key` describes (any text; its digest is kept), or nothing.
  std::optional<int64_t> find(std::string_view key);
  /// All or none of them; existing keys are replaced. If they cannot be kept, `warning` says so.
  void add(std::span<const std::pair<std::string, int64_t>> times);

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
  std::string warning_;
};

/// $XDG_CACHE_HOME/intarsia or ~/.cache/intarsia; empty when neither is known.
std::string user_cache_folder();

}  // namespace intarsia
