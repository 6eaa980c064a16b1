#include "target/cost_table.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "target/machine_name.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

constexpr int format_version = 3;
constexpr const char* schema =
    "CREATE TABLE IF NOT EXISTS costs (machine TEXT, device TEXT, backend TEXT, version TEXT, code TEXT, "
    "threads INTEGER, precision TEXT, kind TEXT, digest TEXT, nanoseconds INTEGER, spread REAL, "
    "probe_ns INTEGER, at INTEGER, fault TEXT, "
    "PRIMARY KEY (digest, machine, kind, backend, version, code, device, threads, precision)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS links (machine TEXT, from_space TEXT, to_space TEXT, latency_ns REAL, "
    "ns_per_byte REAL, at INTEGER, PRIMARY KEY (machine, from_space, to_space)) WITHOUT ROWID";

bool run(sqlite3* file, const char* sql) {
  return sqlite3_exec(file, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

/// Returns the format of the file: 0 for a new one, nullopt if it cannot be read.
std::optional<int> read_version(sqlite3* file) {
  int version = 0;
  auto read = [](void* to, int, char** columns, char**) {
    *static_cast<int*>(to) = columns[0] == nullptr ? 0 : std::atoi(columns[0]);
    return 0;
  };
  if (sqlite3_exec(file, "PRAGMA user_version", read, &version, nullptr) != SQLITE_OK) return std::nullopt;
  return version;
}

bool make_tables(sqlite3* file) {
  const std::string stamp = fmt::format("PRAGMA user_version = {}", format_version);
  return run(file, "BEGIN IMMEDIATE") && run(file, schema) && run(file, stamp.c_str()) && run(file, "COMMIT");
}

/// Moves a file away, including its write-ahead log, so that nothing is lost.
void move_away(const std::string& path) {
  std::error_code error;
  fs::rename(path, path + ".damaged", error);
  fs::rename(path + "-wal", path + ".damaged-wal", error);
  fs::remove(path + "-shm", error);
}

/// SQL statement, finalized by the destructor.
class Statement {
 public:
  Statement(sqlite3* file, const char* sql) { sqlite3_prepare_v2(file, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds the parameters, in order.
  template <typename... Values>
  void bind(const Values&... values) {
    int at = 0;
    (bind_one(++at, values), ...);
  }
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }

  // Values of the current row, by column.
  int64_t number(int column) { return sqlite3_column_int64(statement_, column); }
  double real(int column) { return sqlite3_column_double(statement_, column); }
  /// Returns a text that is valid until the next step.
  std::string_view text(int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  void bind_one(int at, std::string_view text) {
    sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind_one(int at, int64_t number) { sqlite3_bind_int64(statement_, at, number); }
  void bind_one(int at, double number) { sqlite3_bind_double(statement_, at, number); }

  sqlite3_stmt* statement_ = nullptr;
};

/// Sorts the keys as in the file, so that neighboring rows are read together.
std::vector<const CostKey*> sort_keys(std::span<const CostKey> keys) {
  std::vector<const CostKey*> sorted;
  for (const CostKey& key : keys) sorted.push_back(&key);
  std::ranges::sort(sorted, {}, [](const CostKey* key) -> std::string_view { return key->digest; });
  return sorted;
}

/// Returns the digests as a JSON list, which is a single parameter.
std::string list_digests(const std::vector<const CostKey*>& keys) {
  std::string list = "[";
  for (const CostKey* key : keys) {
    if (list.size() > 1) list += ',';
    list.append(1, '"').append(key->digest).append(1, '"');
  }
  return list + "]";
}

const char* name_of(CostKind kind) {
  constexpr std::array names = {"kernel", "region", "part", "node", "plan"};  // ordered as CostKind
  return names[static_cast<size_t>(kind)];
}

}  // namespace

Cost cost_measured_now(int64_t probe_nanoseconds) {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return {.probe_nanoseconds = probe_nanoseconds,
          .at = std::chrono::duration_cast<std::chrono::milliseconds>(time).count()};
}

CostTable::CostTable(const std::string& folder, int busy_milliseconds)
    : busy_milliseconds_(busy_milliseconds), machine_(machine_name(read_machine_facts())) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string names[] = {"costs.sqlite", fmt::format("costs.{}.sqlite", format_version)};
  for (const std::string& name : folder.empty() ? std::span<const std::string>() : names) {
    if (open_or_replace((fs::path(folder) / name).string())) return;
  }
  if (folder.empty())
    warning_ = "measured times are not kept: there is no cache folder; name one with --cache";
  path_.clear();
  open(":memory:");
}

/// Opens the file, or replaces a damaged one. Returns false only for a file of another format.
bool CostTable::open_or_replace(const std::string& path) {
  path_ = path;
  Opened opened = open(path);
  if (opened == Opened::damaged) {
    move_away(path);
    opened = open(path);
    if (opened == Opened::ready)
      warning_ = fmt::format("{}: the file of measured times was damaged and is started over", path);
  }
  if (opened == Opened::ready || opened == Opened::other_format) return opened == Opened::ready;
  warn(sqlite3_errmsg(file_.get()));
  open(":memory:");
  return true;
}

CostTable::Opened CostTable::open(const std::string& path) {
  sqlite3* file = nullptr;
  sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                  nullptr);
  file_ = std::shared_ptr<sqlite3>(file, sqlite3_close_v2);
  sqlite3_busy_timeout(file, busy_milliseconds_);
  const std::optional<int> version = read_version(file);
  if (version && *version != 0 && *version != format_version) return Opened::other_format;
  run(file, "PRAGMA journal_mode = WAL");
  run(file, "PRAGMA synchronous = NORMAL");
  run(file, "PRAGMA cache_size = -16000");  // KiB; large, as rows are read in random order
  if (version == format_version || (version == 0 && make_tables(file))) return Opened::ready;
  const int reason = sqlite3_errcode(file);
  return reason == SQLITE_CORRUPT || reason == SQLITE_NOTADB ? Opened::damaged : Opened::unusable;
}

void CostTable::warn(const std::string& why) {
  if (!warning_.empty()) return;
  warning_ = fmt::format("{}: measured times are not kept this time ({}); name another folder with --cache",
                         path_, why);
}

/// Queries by digest alone and compares the rest of the key here, as a digest has few rows.
std::map<CostKey, Cost> CostTable::find(std::span<const CostKey> keys) {
  Statement select(
      file_.get(),
      "SELECT asked.key, kind, backend, version, code, device, threads, precision, nanoseconds, "
      "spread, probe_ns, at, fault FROM json_each(?) AS asked CROSS JOIN costs ON digest = asked.value "
      "WHERE machine = ? AND nanoseconds > 0");
  const std::vector<const CostKey*> sorted = sort_keys(keys);
  select.bind(list_digests(sorted), machine_);
  std::map<CostKey, Cost> found;
  while (select.step() == SQLITE_ROW) {
    const CostKey& key = *sorted[static_cast<size_t>(select.number(0))];
    const bool is_same = select.text(1) == name_of(key.kind) && select.text(2) == key.backend &&
                         select.text(3) == key.version && select.text(4) == key.code &&
                         select.text(5) == key.device && select.number(6) == key.threads &&
                         select.text(7) == key.precision;
    if (is_same)
      found.emplace_hint(found.end(), key,
                         Cost{{select.number(8), select.real(9)},
                              select.number(10),
                              select.number(11),
                              std::string(select.text(12))});
  }
  for (const CostKey& key : keys) {
    if (const auto disturbed = disturbed_.find(key); disturbed != disturbed_.end())
      found.insert_or_assign(key, disturbed->second);
  }
  return found;
}

void CostTable::add(std::span<const std::pair<CostKey, Cost>> rows) {
  for (const auto& [key, cost] : rows) {
    if (cost.timing.is_disturbed)
      disturbed_[key] = cost;
    else
      disturbed_.erase(key);
  }
  bool added = run(file_.get(), "BEGIN IMMEDIATE");
  if (added) {
    Statement insert(file_.get(),
                     "INSERT OR REPLACE INTO costs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const auto& [key, cost] : rows) {
      if (cost.timing.is_disturbed) continue;
      insert.bind(machine_, key.device, key.backend, key.version, key.code, int64_t{key.threads},
                  key.precision, name_of(key.kind), key.digest, cost.timing.nanoseconds, cost.timing.spread,
                  cost.probe_nanoseconds, cost.at, cost.fault);
      added = added && insert.step() == SQLITE_DONE;
      insert.reset();
    }
  }
  if (added && run(file_.get(), "COMMIT")) return;
  warn(sqlite3_errmsg(file_.get()));
  run(file_.get(), "ROLLBACK");
}

std::optional<LinkCost> CostTable::find_link(const std::string& from_space, const std::string& to_space) {
  Statement select(file_.get(),
                   "SELECT latency_ns, ns_per_byte, at FROM links WHERE machine = ? AND from_space = ? AND "
                   "to_space = ?");
  select.bind(machine_, from_space, to_space);
  if (select.step() != SQLITE_ROW) return std::nullopt;
  return LinkCost{select.real(0), select.real(1), select.number(2)};
}

void CostTable::add_link(const std::string& from_space, const std::string& to_space, const LinkCost& cost) {
  Statement insert(file_.get(), "INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?)");
  insert.bind(machine_, from_space, to_space, cost.latency_ns, cost.ns_per_byte, cost.at);
  if (insert.step() != SQLITE_DONE) warn(sqlite3_errmsg(file_.get()));
}

}  // namespace intarsia
