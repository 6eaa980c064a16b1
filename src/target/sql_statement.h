// Statements of a database.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "target/shared_database.h"

namespace intarsia {

/// SQL statement, finalized by the destructor.
class Statement {
 public:
  Statement(const SharedDatabase& database, const char* sql) {
    sqlite3_prepare_v2(database.get(), sql, -1, &statement_, nullptr);
  }
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

  // Values of the current row, by column; texts and bytes are valid until the next step.
  int64_t number(int column) { return sqlite3_column_int64(statement_, column); }
  double real(int column) { return sqlite3_column_double(statement_, column); }
  std::string_view text(int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }
  std::string_view bytes(int column) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  void bind_one(int at, std::string_view text) {
    sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind_one(int at, std::span<const std::byte> bytes) {
    sqlite3_bind_blob64(statement_, at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  }
  void bind_one(int at, int64_t number) { sqlite3_bind_int64(statement_, at, number); }
  void bind_one(int at, double number) { sqlite3_bind_double(statement_, at, number); }

  sqlite3_stmt* statement_ = nullptr;
};

/// Returns strings as a JSON list, which is a single parameter of a statement. They need no escapes.
template <typename Strings>
std::string list_strings(const Strings& strings) {
  std::string list = "[";
  for (const std::string_view string : strings) {
    if (list.size() > 1) list += ',';
    list.append(1, '"').append(string).append(1, '"');
  }
  return list + "]";
}

}  // namespace intarsia
