#include "target/cost_database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace intarsia {
namespace {

namespace fs = std::filesystem;

constexpr int format_version = 1;
constexpr int busy_milliseconds = 10000;  // another process holds the file for one short transaction at a time
constexpr const char* schema =
    "CREATE TABLE IF NOT EXISTS times (machine TEXT, key TEXT, nanoseconds INTEGER, PRIMARY KEY (machine, key)) WITHOUT ROWID";

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

bool run(sqlite3* file, const char* sql) { return sqlite3_exec(file, sql, nullptr, nullptr, nullptr) == SQLITE_OK; }

int read_version(sqlite3* file) {
  int version = -1;
  auto read = [](void* to, int, char** columns, char**) {
    *static_cast<int*>(to) = columns[0] == nullptr ? -1 : std::atoi(columns[0]);
    return 0;
  };
  return sqlite3_exec(file, "PRAGMA user_version", read, &version, nullptr) == SQLITE_OK ? version : -1;
}

/// A statement that is given back with it.
class Statement {
 public:
  Statement(sqlite3* file, const char* sql) { sqlite3_prepare_v2(file, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int at, const std::string& text) { sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT); }
  void bind(int at, int64_t number) { sqlite3_bind_int64(statement_, at, number); }
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  int64_t number() { return sqlite3_column_int64(statement_, 0); }
  void reset() { sqlite3_reset(statement_); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

CostDatabase::CostDatabase(const std::string& folder) : machine_(machine_name()) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string path = (fs::path(folder) / "costs.sqlite").string();
  if (!folder.empty() && open(path)) return;
  if (!folder.empty() && fs::exists(path, error)) {
    // What SQLite cannot read is moved out of the way, whole: another process may have it open.
    fs::rename(path, path + ".damaged", error);
    for (const char* companion : {"-wal", "-shm"}) fs::remove(path + companion, error);
    if (open(path)) {
      warning_ = fmt::format("{}: the file of measured times was damaged and is begun anew", path);
      return;
    }
  }
  warning_ = fmt::format("{}: measured times cannot be kept there; name a folder that can be written with --cache",
                         folder.empty() ? "no cache folder" : path);
  open(":memory:");
}

bool CostDatabase::open(const std::string& path) {
  sqlite3* file = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  file_ = std::shared_ptr<sqlite3>(file, sqlite3_close_v2);
  if (status != SQLITE_OK) return false;
  sqlite3_busy_timeout(file, busy_milliseconds);
  run(file, "PRAGMA journal_mode = WAL");
  run(file, "PRAGMA synchronous = NORMAL");
  const int version = read_version(file);
  if (version != 0 && version != format_version) return false;
  const std::string stamp = fmt::format("PRAGMA user_version = {}", format_version);
  return run(file, "BEGIN IMMEDIATE") && run(file, schema) && run(file, stamp.c_str()) && run(file, "COMMIT");
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
  if (!run(file_.get(), "BEGIN IMMEDIATE")) return;
  Statement insert(file_.get(), "INSERT OR REPLACE INTO times VALUES (?, ?, ?)");
  for (const auto& [key, nanoseconds] : times) {
    insert.bind(1, machine_);
    insert.bind(2, digest(key));
    insert.bind(3, nanoseconds);
    insert.step();
    insert.reset();
  }
  run(file_.get(), "COMMIT");
}

std::string user_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0) return std::string(cache) + "/intarsia";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) return std::string(home) + "/.cache/intarsia";
  return {};
}

}  // namespace intarsia
