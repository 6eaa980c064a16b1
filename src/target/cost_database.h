// Measured times, kept between compiles: an SQLite file that processes share. A time belongs to a machine (its CPU
// and number of cores); those of other machines are left alone. Losing it costs time, never correctness, so that
// trouble with the file is a warning.
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
  /// `folder`/costs.sqlite, made when absent. A file that is damaged or of another format is made anew; where there can
  /// be none, times live as long as this object. `warning` then says why.
  explicit CostDatabase(const std::string& folder);

  /// Nanoseconds of what `key` describes (any text; its digest is kept), or nothing.
  std::optional<int64_t> find(std::string_view key);
  /// All or none of them; a key that is there is replaced.
  void add(std::span<const std::pair<std::string, int64_t>> times);

  const std::string& warning() const { return warning_; }

 private:
  bool open(const std::string& path);

  std::shared_ptr<sqlite3> file_;
  std::string machine_;
  std::string warning_;
};

/// $XDG_CACHE_HOME/intarsia or ~/.cache/intarsia; empty when neither is known.
std::string user_cache_folder();

}  // namespace intarsia
