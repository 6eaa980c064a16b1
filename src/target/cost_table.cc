#include "target/cost_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <ranges>

#include "target/machine_name.h"
#include "target/sql_statement.h"

namespace intarsia {
namespace {

/// Returns the format of the file.
DatabaseFormat cost_format() {
  return {.name = "costs",
          .version = 4,
          .schema =
              "CREATE TABLE IF NOT EXISTS costs (machine TEXT, device TEXT, backend TEXT, version TEXT, code "
              "TEXT, threads INTEGER, precision TEXT, sizes TEXT, kind TEXT, digest TEXT, nanoseconds "
              "INTEGER, spread "
              "REAL, probe_ns INTEGER, at INTEGER, fault TEXT, PRIMARY KEY (digest, machine, kind, backend, "
              "version, code, device, threads, precision, sizes)) WITHOUT ROWID;"
              "CREATE TABLE IF NOT EXISTS links (machine TEXT, from_space TEXT, to_space TEXT, latency_ns "
              "REAL, ns_per_byte REAL, at INTEGER, PRIMARY KEY (machine, from_space, to_space)) WITHOUT "
              "ROWID"};
}

/// Sorts the keys as in the file, so that neighboring rows are read together.
std::vector<const CostKey*> sort_keys(std::span<const CostKey> keys) {
  std::vector<const CostKey*> sorted;
  for (const CostKey& key : keys) sorted.push_back(&key);
  std::ranges::sort(sorted, {}, [](const CostKey* key) -> std::string_view { return key->digest; });
  return sorted;
}

/// Returns the digests as a JSON list, which is a single parameter.
std::string list_digests(const std::vector<const CostKey*>& keys) {
  return list_strings(
      keys | std::views::transform([](const CostKey* key) { return std::string_view(key->digest); }));
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
    : file_(folder, cost_format(), busy_milliseconds), machine_(machine_name(read_machine_facts())) {
  if (file_.state() == SharedDatabase::State::replaced)
    warning_ = fmt::format("{}: the file of measured times was damaged and is started over", file_.path());
  else if (file_.state() == SharedDatabase::State::unusable && folder.empty())
    warning_ = "measured times are not kept: there is no cache folder; name one with --cache";
  else if (file_.state() == SharedDatabase::State::unusable)
    warn(file_.error());
}

void CostTable::warn(const std::string& why) {
  if (!warning_.empty()) return;
  warning_ = fmt::format("{}: measured times are not kept this time ({}); name another folder with --cache",
                         file_.path(), why);
}

/// Queries by digest alone and compares the rest of the key here, as a digest has few rows.
std::map<CostKey, Cost> CostTable::find(std::span<const CostKey> keys) {
  Statement select(
      file_,
      "SELECT asked.key, kind, backend, version, code, device, threads, precision, sizes, nanoseconds, "
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
                         select.text(7) == key.precision && select.text(8) == key.sizes;
    if (is_same)
      found.emplace_hint(found.end(), key,
                         Cost{{select.number(9), select.real(10)},
                              select.number(11),
                              select.number(12),
                              std::string(select.text(13))});
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
  if (file_.run("BEGIN IMMEDIATE") && insert(rows) && file_.run("COMMIT")) return;
  warn(file_.last_error());
  file_.run("ROLLBACK");
}

/// Inserts the rows that are not disturbed. Returns whether all were.
bool CostTable::insert(std::span<const std::pair<CostKey, Cost>> rows) {
  Statement insert(file_,
                   "INSERT OR REPLACE INTO costs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [key, cost] : rows) {
    if (cost.timing.is_disturbed) continue;
    insert.bind(machine_, key.device, key.backend, key.version, key.code, int64_t{key.threads}, key.precision,
                key.sizes, name_of(key.kind), key.digest, cost.timing.nanoseconds, cost.timing.spread,
                cost.probe_nanoseconds, cost.at, cost.fault);
    if (insert.step() != SQLITE_DONE) return false;
    insert.reset();
  }
  return true;
}

std::vector<std::pair<CostKey, Cost>> CostTable::list_kernels(const std::string& backend,
                                                              const std::string& version,
                                                              const std::string& code) {
  Statement select(file_,
                   "SELECT digest, threads, precision, nanoseconds, spread, probe_ns, at FROM costs WHERE "
                   "machine = ? AND kind = 'kernel' AND device = 'cpu' AND backend = ? AND version = ? AND "
                   "code = ? AND sizes = '' AND nanoseconds BETWEEN 1 AND ? ORDER BY digest, threads");
  select.bind(machine_, backend, version, code, never - 1);
  std::vector<std::pair<CostKey, Cost>> rows;
  while (select.step() == SQLITE_ROW)
    rows.push_back({{.digest = std::string(select.text(0)),
                     .backend = backend,
                     .version = version,
                     .code = code,
                     .device = "cpu",
                     .threads = static_cast<int>(select.number(1)),
                     .precision = std::string(select.text(2))},
                    {{select.number(3), select.real(4)}, select.number(5), select.number(6), {}}});
  return rows;
}

/// Makes the table of imports if this is the first one: files without it have the same format.
Status CostTable::import(const std::string& cpu, std::span<const std::pair<CostKey, Cost>> rows) {
  const auto failed = [&](const std::string& why) {
    return fail(ErrorKind::io, "the times cannot be kept in '{}' ({}); name another folder with --cache",
                file_.path(), why);
  };
  if (file_.path().empty()) return fail(ErrorKind::io, "no cache folder: name one with --cache");
  if (file_.state() == SharedDatabase::State::unusable) return failed(file_.error());
  const auto name_machine = [&] {
    if (cpu.empty()) return true;
    Statement name(file_, "INSERT OR REPLACE INTO imports VALUES (?, ?, ?)");
    name.bind(cpu, machine_, cost_measured_now(0).at);
    return name.step() == SQLITE_DONE;
  };
  if (file_.run("BEGIN IMMEDIATE") &&
      file_.run("CREATE TABLE IF NOT EXISTS imports (cpu TEXT PRIMARY KEY, machine TEXT, at INTEGER)") &&
      insert(rows) && name_machine() && file_.run("COMMIT"))
    return {};
  const std::string why = file_.last_error();
  file_.run("ROLLBACK");
  return failed(why);
}

std::optional<ImportedTimes> CostTable::find_imported(const std::string& cpu) {
  Statement select(file_, "SELECT machine, at FROM imports WHERE cpu = ?");
  select.bind(cpu);
  if (select.step() != SQLITE_ROW) return std::nullopt;
  return ImportedTimes{std::string(select.text(0)), select.number(1)};
}

std::optional<LinkCost> CostTable::find_link(const std::string& from_space, const std::string& to_space) {
  Statement select(file_,
                   "SELECT latency_ns, ns_per_byte, at FROM links WHERE machine = ? AND from_space = ? AND "
                   "to_space = ?");
  select.bind(machine_, from_space, to_space);
  if (select.step() != SQLITE_ROW) return std::nullopt;
  return LinkCost{select.real(0), select.real(1), select.number(2)};
}

void CostTable::add_link(const std::string& from_space, const std::string& to_space, const LinkCost& cost) {
  Statement insert(file_, "INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?)");
  insert.bind(machine_, from_space, to_space, cost.latency_ns, cost.ns_per_byte, cost.at);
  if (insert.step() != SQLITE_DONE) warn(file_.last_error());
}

}  // namespace intarsia
