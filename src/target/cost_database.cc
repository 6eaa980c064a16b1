#include "target/cost_database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

namespace intarsia {
namespace {

namespace fs = std::filesystem;

constexpr int format_version = 1;
constexpr const char* schema =
    "CREATE TABLE IF NOT EXISTS times (machine TEXT, key TEXT, nanoseconds INTEGER, PRIMARY KEY (machine, "
    "key)) WITHOUT ROWID";

std::string machine_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string model = "unknown";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 1);
      break;
    }
  }
  return fmt::format("{},{} cores", model, std::thread::hardware_concurrency());
}

std::string digest(std::string_view key) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

bool run(sqlite3* file, const char* sql) {
  return sqlite3_exec(file, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

/// The file's format; 0: the file is new. Nothing when it cannot be read.
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

/// Including what is only in its write-ahead log, so that nothing is lost.
void move_away(const std::string& path) {
  std::error_code error;
  fs::rename(path, path + ".damaged", error);
  fs::rename(path + "-wal", path + ".damaged-wal", error);
  fs::remove(path + "-shm", error);
}

/// A statement, finalized by the destructor.
class Statement {
 public:
  Statement(sqlite3* file, const char* sql) { sqlite3_prepare_v2(file, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int at, const std::string& text) {
    sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int at, int64_t number) { sqlite3_bind_int64(statement_, at, number); }
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  int64_t number() { return sqlite3_column_int64(statement_, 0); }
  void reset() { sqlite3_reset(statement_); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

CostDatabase::CostDatabase(const std::string& folder, int busy_milliseconds)
    : busy_milliseconds_(busy_milliseconds), machine_(machine_name()) {
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

/// False only for a file of another format.
bool CostDatabase::open_or_replace(const std::string& path) {
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

CostDatabase::Opened CostDatabase::open(const std::string& path) {
  sqlite3* file = nullptr;
  sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  file_ = std::shared_ptr<sqlite3>(file, sqlite3_close_v2);
  sqlite3_busy_timeout(file, busy_milliseconds_);
  run(file, "PRAGMA journal_mode = WAL");
  run(file, "PRAGMA synchronous = NORMAL");
  const std::optional<int> version = read_version(file);
  if (version == format_version || (version == 0 && make_tables(file))) return Opened::ready;
  if (version && *version != 0) return Opened::other_format;
  const int reason = sqlite3_errcode(file);
  return reason == SQLITE_CORRUPT || reason == SQLITE_NOTADB ? Opened::damaged : Opened::unusable;
}

void CostDatabase::warn(const std::string& why) {
  if (!warning_.empty()) return;
  warning_ = fmt::format("{}: measured times are not kept this time ({}); name another folder with --cache",
                         path_, why);
}

std::optional<int64_t> CostDatabase::find(std::string_view key) {
  Statement select(file_.get(), "SELECT nanoseconds FROM times WHERE machine = ? AND key = ?");
  select.bind(1, machine_);
  select.bind(2, digest(key));
  if (select.step() != SQLITE_ROW) return std::nullopt;
  const int64_t nanoseconds = select.number();
  return nanoseconds > 0 ? std::optional(nanoseconds) : std::nullopt;
}

void CostDatabase::add(std::span<const std::pair<std::string, int64_t>> times) {
  bool added = run(file_.get(), "BEGIN IMMEDIATE");
  if (added) {
    Statement insert(file_.get(), "INSERT OR REPLACE INTO times VALUES (?, ?, ?)");
    for (const auto& [key, nanoseconds] : times) {
      insert.bind(1, machine_);
      insert.bind(2, digest(key));
      insert.bind(3, nanoseconds);
      added = added && insert.step() == SQLITE_DONE;
      insert.reset();
    }
  }
  if (added && run(file_.get(), "COMMIT")) return;
  warn(sqlite3_errmsg(file_.get()));
  run(file_.get(), "ROLLBACK");
}

std::string user_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0)
    return std::string(cache) + "/intarsia";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0)
    return std::string(home) + "/.cache/intarsia";
  return {};
}

}  // namespace intarsia
