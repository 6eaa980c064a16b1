// Time to read rows of the table of measured costs, from a file that this makes, and to look up each row on
// its own. One JSON object on stdout.
//
//     build/bin/bench_cost_table [ROWS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/digest.h"
#include "target/cost_table.h"

namespace intarsia {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Makes keys of kernels, as the halide backend makes them.
std::vector<CostKey> make_keys(size_t rows) {
  std::vector<CostKey> keys;
  for (size_t i = 0; i < rows; ++i)
    keys.push_back(
        {CostKind::kernel, content_digest(std::to_string(i)), "halide", "21.0.0", "10", "cpu", 1, "f32"});
  return keys;
}

void check_found(size_t found, size_t rows) {
  if (found == rows) return;
  std::fprintf(stderr, "error: found %zu of %zu rows\n", found, rows);
  std::exit(1);
}

/// Returns the least time of several openings and readings of the file, in milliseconds.
double time_reading(const std::string& folder, const std::vector<CostKey>& keys) {
  double least = 1e9;
  for (int round = 0; round < 20; ++round) {
    CostTable table(folder);
    const auto start = std::chrono::steady_clock::now();
    check_found(table.find(keys).size(), keys.size());
    least = std::min(least, milliseconds_since(start));
  }
  return least;
}

/// Returns the time of a query for each row, measured once, in milliseconds.
double time_reading_singly(const std::string& folder, const std::vector<CostKey>& keys) {
  CostTable table(folder);
  const auto start = std::chrono::steady_clock::now();
  size_t found = 0;
  for (const CostKey& key : keys) found += table.find({&key, 1}).size();
  check_found(found, keys.size());
  return milliseconds_since(start);
}

void measure(size_t rows) {
  std::string made = std::filesystem::temp_directory_path() / "intarsia-bench-cost-table-XXXXXX";
  if (mkdtemp(made.data()) == nullptr) {
    std::fprintf(stderr, "error: cannot make the folder %s\n", made.c_str());
    std::exit(1);
  }
  const std::vector<CostKey> keys = make_keys(rows);
  std::vector<std::pair<CostKey, Cost>> entries;
  for (const CostKey& key : keys) entries.emplace_back(key, Cost{{1000, 0.1}, 50000, 1});
  const auto start = std::chrono::steady_clock::now();
  CostTable(made).add(entries);
  const double adding = milliseconds_since(start);
  std::printf("{\"rows\": %zu, \"add_ms\": %.2f, \"find_ms\": %.2f, \"find_one_by_one_ms\": %.2f}\n", rows,
              adding, time_reading(made, keys), time_reading_singly(made, keys));
  std::filesystem::remove_all(made);
}

}  // namespace
}  // namespace intarsia

int main(int count, char** arguments) {
  intarsia::measure(count > 1 ? static_cast<size_t>(std::atoll(arguments[1])) : 10'000);
}
