#include "target/code_cache.h"

#include <chrono>

#include "base/bytes.h"
#include "base/digest.h"
#include "target/sql_statement.h"

namespace intarsia {
namespace {

DatabaseFormat code_format() {
  return {.name = "code",
          .version = 1,
          .schema =
              "CREATE TABLE IF NOT EXISTS code (key TEXT, version TEXT, digest TEXT, used_at INTEGER, bytes "
              "BLOB, PRIMARY KEY (key, version));"
              "CREATE INDEX IF NOT EXISTS by_use ON code (used_at)"};
}

constexpr int busy_milliseconds = 2000;
constexpr int64_t use_resolution = 24 * 3600;  // seconds; a use is noted once a day, as that is a write

int64_t seconds_since_1970() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

int64_t read_number(const SharedDatabase& file, const char* sql) {
  Statement select(file, sql);
  return select.step() == SQLITE_ROW ? select.number(0) : 0;
}

}  // namespace

CodeCache::CodeCache(const std::string& folder, uint64_t max_bytes)
    : file_(folder, code_format(), busy_milliseconds), max_bytes_(max_bytes) {}

std::map<std::string, std::string> CodeCache::find(std::span<const std::string> keys,
                                                   const std::string& version) {
  std::map<std::string, std::string> found;
  const std::string list = list_strings(keys);
  int64_t used_at = seconds_since_1970();
  const int64_t now = used_at;
  Statement select(file_,
                   "SELECT code.key, digest, used_at, bytes FROM json_each(?) AS asked CROSS JOIN code ON "
                   "code.key = asked.value WHERE version = ?");
  select.bind(list, version);
  while (select.step() == SQLITE_ROW) {
    std::string bytes(select.bytes(3));
    if (content_digest(bytes) != select.text(1)) continue;
    used_at = std::min(used_at, select.number(2));
    found.emplace(select.text(0), std::move(bytes));
  }
  if (now - used_at > use_resolution) {
    Statement update(
        file_, "UPDATE code SET used_at = ? WHERE version = ? AND key IN (SELECT value FROM json_each(?))");
    update.bind(now, version, list);
    update.step();
  }
  return found;
}

void CodeCache::add(std::span<const std::pair<std::string, std::string>> rows, const std::string& version) {
  if (rows.empty() || file_.state() == SharedDatabase::State::unusable || !file_.run("BEGIN IMMEDIATE"))
    return;
  bool added = true;
  {
    Statement insert(file_, "INSERT OR REPLACE INTO code VALUES (?, ?, ?, ?, ?)");
    for (const auto& [key, bytes] : rows) {
      insert.bind(key, version, content_digest(bytes), seconds_since_1970(), as_bytes(bytes));
      added = added && insert.step() == SQLITE_DONE;
      insert.reset();
    }
  }
  if (!added || !file_.run("COMMIT")) file_.run("ROLLBACK");
  if (size() > max_bytes_) drop_oldest();
}

/// Returns the bytes of the file that rows occupy.
uint64_t CodeCache::size() const {
  const int64_t pages = read_number(file_, "PRAGMA page_count") - read_number(file_, "PRAGMA freelist_count");
  return static_cast<uint64_t>(pages * read_number(file_, "PRAGMA page_size"));
}

void CodeCache::drop_oldest() {
  file_.run(
      "DELETE FROM code WHERE rowid IN (SELECT rowid FROM code ORDER BY used_at LIMIT (SELECT COUNT(*) / 4 + "
      "1 FROM code))");
}

}  // namespace intarsia
