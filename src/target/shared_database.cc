#include "target/shared_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace intarsia {
namespace {

namespace fs = std::filesystem;

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

/// Moves a file away, including its write-ahead log, so that nothing is lost.
void move_away(const std::string& path) {
  std::error_code error;
  fs::rename(path, path + ".damaged", error);
  fs::rename(path + "-wal", path + ".damaged-wal", error);
  fs::remove(path + "-shm", error);
}

}  // namespace

SharedDatabase::SharedDatabase(const std::string& folder, const DatabaseFormat& format, int busy_milliseconds)
    : busy_milliseconds_(busy_milliseconds) {
  if (folder.empty()) {
    open_in_memory(format);
    return;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  for (const std::string& name :
       {format.name + ".sqlite", fmt::format("{}.{}.sqlite", format.name, format.version)}) {
    path_ = (fs::path(folder) / name).string();
    if (open_or_replace(format)) return;
  }
  error_ = "files of other formats are in the way";
  open_in_memory(format);
}

bool SharedDatabase::run(const char* sql) {
  return sqlite3_exec(file_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::string SharedDatabase::last_error() const { return sqlite3_errmsg(file_.get()); }

/// Opens the file, or replaces a damaged one. Returns false only for a file of another format.
bool SharedDatabase::open_or_replace(const DatabaseFormat& format) {
  Opened opened = open(path_, format);
  if (opened == Opened::damaged) {
    move_away(path_);
    opened = open(path_, format);
    state_ = State::replaced;
  }
  if (opened == Opened::ready || opened == Opened::other_format) return opened == Opened::ready;
  error_ = last_error();
  open_in_memory(format);
  return true;
}

void SharedDatabase::open_in_memory(const DatabaseFormat& format) {
  state_ = State::unusable;
  open(":memory:", format);
}

SharedDatabase::Opened SharedDatabase::open(const std::string& path, const DatabaseFormat& format) {
  sqlite3* file = nullptr;
  sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                  nullptr);
  file_ = std::shared_ptr<sqlite3>(file, sqlite3_close_v2);
  sqlite3_busy_timeout(file, busy_milliseconds_);
  const std::optional<int> version = read_version(file);
  if (version && *version != 0 && *version != format.version) return Opened::other_format;
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = NORMAL");
  run("PRAGMA cache_size = -16000");  // KiB; large, as rows are read in random order
  if (version == format.version) return Opened::ready;
  const std::string stamp = fmt::format("PRAGMA user_version = {}", format.version);
  if (version == 0 && run("BEGIN IMMEDIATE") && run(format.schema.c_str()) && run(stamp.c_str()) &&
      run("COMMIT"))
    return Opened::ready;
  const int reason = sqlite3_errcode(file);
  return reason == SQLITE_CORRUPT || reason == SQLITE_NOTADB ? Opened::damaged : Opened::unusable;
}

}  // namespace intarsia
