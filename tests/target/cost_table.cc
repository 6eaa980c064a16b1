// Table of costs: what was measured is found by everything that it depends on, and survives the process,
// other formats, locks, a full disk, damage to its file and a folder that cannot be written.
//
// Covers: src/target/ cost_table.cc
// src/base/ digest.cc
#include "target/cost_table.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/digest.h"
#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

class CostTableTest : public testing::Test {
 protected:
  static CostKey key_of(const std::string& what) {
    return {CostKind::kernel, content_digest(what), "halide", "21.0.0", "10", "cpu", 1, "f32"};
  }

  static void add(CostTable& costs, const std::string& what, int64_t nanoseconds) {
    const std::pair<CostKey, Cost> row{key_of(what), {{nanoseconds, 0.25}, 50'000, 1'700'000'000}};
    costs.add({&row, 1});
  }

  /// Returns the nanoseconds in the table; nullopt if there are none.
  static std::optional<int64_t> find(CostTable& costs, const std::string& what) {
    const CostKey key = key_of(what);
    const auto rows = costs.find({&key, 1});
    return rows.empty() ? std::nullopt : std::optional(rows.at(key).timing.nanoseconds);
  }

  std::string read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }

  const test::TestFolder temporary_;
  const std::string folder_ = temporary_.path().string();
};

/// Connection to the file like that of another process.
class Connection {
 public:
  explicit Connection(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &file_), SQLITE_OK); }
  ~Connection() { sqlite3_close(file_); }
  void run(const char* sql) {
    EXPECT_EQ(sqlite3_exec(file_, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }

 private:
  sqlite3* file_ = nullptr;
};

/// Prevents this process from writing any file while the object lives.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(CostTableTest, DisturbedTimesEndWithTheCompile) {
  {
    CostTable costs(folder_);
    add(costs, "idle", 100);
    const std::pair<CostKey, Cost> rows[] = {{key_of("busy"), {{200, 0.25, true}, 50'000, 1'700'000'001}},
                                             {key_of("idle"), {{300, 0.25, true}, 50'000, 1'700'000'001}}};
    costs.add(rows);
    EXPECT_EQ(find(costs, "busy"), 200);
    EXPECT_EQ(find(costs, "idle"), 300) << "of one measurement with the other";
    add(costs, "idle", 120);
    EXPECT_EQ(find(costs, "idle"), 120) << "an undisturbed time replaces it";
  }
  CostTable costs(folder_);
  EXPECT_EQ(find(costs, "busy"), std::nullopt);
  EXPECT_EQ(find(costs, "idle"), 120);
}

TEST_F(CostTableTest, RemembersByKey) {
  {
    CostTable costs(folder_ + "/made/on/the/way");
    EXPECT_EQ(costs.warning(), "");
    EXPECT_EQ(find(costs, "conv"), std::nullopt);
    add(costs, "conv", 1200);
    add(costs, "conv", 1100);
    add(costs, "gemm", 7);
  }
  CostTable again(folder_ + "/made/on/the/way");
  EXPECT_EQ(find(again, "conv"), 1100);
  EXPECT_EQ(find(again, "gemm"), 7);
  EXPECT_EQ(find(again, "con"), std::nullopt);
}

TEST_F(CostTableTest, ARowIsOfAllThatItsTimeDependsOn) {
  const CostKey key = key_of("conv");
  std::vector<CostKey> keys(9, key);
  keys[1].kind = CostKind::plan;
  keys[2].digest = content_digest("gemm");
  keys[3].backend = "reference";
  keys[4].version = "22.0.0";
  keys[5].code = "11";
  keys[6].device = "sim";
  keys[7].threads = 2;
  keys[8].precision = "bf16";
  {
    CostTable costs(folder_);
    std::vector<std::pair<CostKey, Cost>> rows;
    for (size_t i = 0; i < keys.size(); ++i)
      rows.push_back({keys[i], {{static_cast<int64_t>(100 + i), 0.5}, 77, 1'700'000'000}});
    costs.add(rows);
  }
  CostTable costs(folder_);
  const std::map<CostKey, Cost> found = costs.find(keys);
  ASSERT_EQ(found.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(found.at(keys[i]), (Cost{{static_cast<int64_t>(100 + i), 0.5}, 77, 1'700'000'000}));
  EXPECT_EQ(costs.find({&key, 1}).size(), 1u) << "of the same digest, only those asked for";
  EXPECT_TRUE(costs.find({}).empty());
}

TEST_F(CostTableTest, WhatNeverRunsIsARow) {
  CostTable costs(folder_);
  add(costs, "conv", never);
  EXPECT_EQ(find(costs, "conv"), never);
}

TEST_F(CostTableTest, OtherMachinesAreLeftAlone) {
  {
    CostTable costs(folder_);
    add(costs, "conv", 5);
    costs.add_link("cpu", "gpu", {900, 0.1, 1});
  }
  Connection(folder_ + "/costs.sqlite").run("UPDATE costs SET machine = 'another'");
  Connection(folder_ + "/costs.sqlite").run("UPDATE links SET machine = 'another'");
  CostTable costs(folder_);
  EXPECT_EQ(find(costs, "conv"), std::nullopt);
  EXPECT_EQ(costs.find_link("cpu", "gpu"), std::nullopt);
  add(costs, "conv", 7);
  Connection(folder_ + "/costs.sqlite").run("UPDATE costs SET nanoseconds = 8 WHERE machine <> 'another'");
  EXPECT_EQ(find(costs, "conv"), 8);
}

TEST_F(CostTableTest, KnowsLinks) {
  {
    CostTable costs(folder_);
    EXPECT_EQ(costs.find_link("cpu", "gpu"), std::nullopt);
    costs.add_link("cpu", "gpu", {900, 0.1, 1});
    costs.add_link("cpu", "gpu", {1200.5, 0.08, 2});
    costs.add_link("gpu", "cpu", {800, 0.09, 2});
  }
  CostTable costs(folder_);
  EXPECT_EQ(costs.find_link("cpu", "gpu"), (LinkCost{1200.5, 0.08, 2})) << "there and back are two links";
  EXPECT_EQ(costs.find_link("gpu", "cpu"), (LinkCost{800, 0.09, 2}));
  EXPECT_EQ(costs.find_link("cpu", "disk"), std::nullopt);
}

TEST_F(CostTableTest, TimesOfAMachineElsewhereAreThoseOfItsProcessor) {
  const std::pair<CostKey, Cost> there{key_of("conv"), {{500, 0.25}, 0, 1'700'000'000}};
  {
    CostTable costs(folder_);
    add(costs, "conv", 7);
    EXPECT_FALSE(costs.find_imported("cortex-a72"));
    costs.set_machine("a board");
    ASSERT_TRUE(costs.import("cortex-a72", {&there, 1}));
  }
  CostTable costs(folder_);
  EXPECT_EQ(find(costs, "conv"), 7) << "those of this machine stay";
  const auto imported = costs.find_imported("cortex-a72");
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->machine, "a board");
  EXPECT_GT(imported->at, 1'700'000'000'000);
  EXPECT_FALSE(costs.find_imported("cortex-a53"));
  costs.set_machine(imported->machine);
  EXPECT_EQ(find(costs, "conv"), 500);
  EXPECT_EQ(costs.list_kernels("halide", "21.0.0", "10"), (std::vector{there}));
  EXPECT_TRUE(costs.list_kernels("halide", "21.0.0", "11").empty());
}

TEST_F(CostTableTest, TheLastMachineOfAProcessorCounts) {
  const std::pair<CostKey, Cost> row{key_of("conv"), {{500, 0.25}, 0, 1'700'000'000}};
  CostTable costs(folder_);
  for (const char* machine : {"a board", "another board"}) {
    costs.set_machine(machine);
    ASSERT_TRUE(costs.import("cortex-a72", {&row, 1}));
  }
  EXPECT_EQ(costs.find_imported("cortex-a72")->machine, "another board");
}

TEST_F(CostTableTest, AnImportIsWholeOrNotAtAll) {
  std::vector<std::pair<CostKey, Cost>> rows;
  for (int i = 0; i < 5000; ++i) rows.push_back({key_of(std::to_string(i)), {{500, 0.25}, 0, 1'700'000'000}});
  {
    CostTable costs(folder_);
    costs.set_machine("a board");
    const FullDisk full;
    const auto imported = costs.import("cortex-a72", rows);
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().kind, ErrorKind::io);
    EXPECT_NE(imported.error().message.find("name another folder with --cache"), std::string::npos)
        << imported.error().message;
  }
  CostTable costs(folder_);
  EXPECT_FALSE(costs.find_imported("cortex-a72"));
  costs.set_machine("a board");
  EXPECT_TRUE(costs.list_kernels("halide", "21.0.0", "10").empty());
  CostTable nowhere("/dev/null/cache");
  EXPECT_FALSE(nowhere.import("cortex-a72", rows));
  CostTable nameless("");
  EXPECT_EQ(nameless.import("cortex-a72", rows).error().message, "no cache folder: name one with --cache");
}

TEST_F(CostTableTest, AFileOfTheFirstFormatIsLeftAlone) {
  const std::string path = folder_ + "/costs.sqlite";
  Connection(path).run(
      "CREATE TABLE times (machine TEXT, key TEXT, nanoseconds INTEGER, PRIMARY KEY (machine, key)) WITHOUT "
      "ROWID; PRAGMA user_version = 1");
  const std::string bytes = read("costs.sqlite");
  CostTable costs(folder_);
  EXPECT_EQ(costs.warning(), "");
  add(costs, "conv", 7);
  EXPECT_TRUE(read("costs.sqlite") == bytes);
  EXPECT_TRUE(files().contains("costs.4.sqlite"));
}

TEST_F(CostTableTest, StartsOverAfterDamage) {
  for (const std::string& bytes :
       {std::string("no database at all"), std::string("SQLite format 3\0", 16) + std::string(4096, 'x')}) {
    std::ofstream(folder_ + "/costs.sqlite", std::ios::trunc) << bytes;
    CostTable costs(folder_);
    EXPECT_NE(costs.warning().find("damaged"), std::string::npos) << costs.warning();
    add(costs, "conv", 5);
    CostTable again(folder_);
    EXPECT_EQ(find(again, "conv"), 5);
    EXPECT_EQ(read("costs.sqlite.damaged"), bytes);
  }
}

TEST_F(CostTableTest, AnotherFormatIsLeftAlone) {
  {
    CostTable costs(folder_);
    add(costs, "conv", 5);
  }
  std::fstream file(folder_ + "/costs.sqlite", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60);  // the user version in the header of the SQLite file format, big endian
  file.write("\0\0\0\x63", 4);
  file.close();
  const std::string bytes = read("costs.sqlite");
  {
    CostTable costs(folder_);
    EXPECT_EQ(costs.warning(), "");
    EXPECT_EQ(find(costs, "conv"), std::nullopt);
    add(costs, "conv", 7);
  }
  {
    CostTable costs(folder_);
    EXPECT_EQ(find(costs, "conv"), 7);
  }
  EXPECT_TRUE(read("costs.sqlite") == bytes);
  EXPECT_EQ(files(), (std::set<std::string>{"costs.sqlite", "costs.4.sqlite"}));
}

TEST_F(CostTableTest, ALockedFileIsLeftAlone) {
  {
    CostTable costs(folder_);
    add(costs, "conv", 5);
  }
  for (const char* journal : {"PRAGMA journal_mode = WAL", "PRAGMA journal_mode = DELETE"}) {
    Connection other(folder_ + "/costs.sqlite");
    other.run(journal);
    other.run("BEGIN EXCLUSIVE");
    CostTable costs(folder_, 20);
    add(costs, "gemm", 7);
    EXPECT_NE(costs.warning().find("locked"), std::string::npos) << journal << costs.warning();
  }
  EXPECT_EQ(files(), std::set<std::string>{"costs.sqlite"});
  CostTable costs(folder_);
  EXPECT_EQ(costs.warning(), "");
  EXPECT_EQ(find(costs, "conv"), 5);
  EXPECT_EQ(find(costs, "gemm"), std::nullopt);
}

TEST_F(CostTableTest, AFileWithoutSpaceIsLeftAlone) {
  {
    CostTable costs(folder_);
    add(costs, "conv", 5);
  }
  {
    CostTable costs(folder_);
    const FullDisk full;
    add(costs, "gemm", 7);
    EXPECT_NE(costs.warning().find("--cache"), std::string::npos) << costs.warning();
    EXPECT_EQ(find(costs, "conv"), 5);
    CostTable fresh(folder_ + "/new");
    EXPECT_NE(fresh.warning().find("--cache"), std::string::npos) << fresh.warning();
    CostTable second(folder_);
  }
  CostTable costs(folder_);
  EXPECT_EQ(find(costs, "conv"), 5);
  EXPECT_EQ(find(costs, "gemm"), std::nullopt);
  add(costs, "gemm", 7);
  EXPECT_EQ(costs.warning(), "");
  EXPECT_FALSE(fs::exists(folder_ + "/costs.sqlite.damaged"));
}

TEST_F(CostTableTest, WorksWithoutAFile) {
  std::ofstream(folder_ + "/file") << "in the way";
  for (const std::string& folder : {folder_ + "/file", std::string()}) {
    CostTable costs(folder);
    EXPECT_NE(costs.warning().find("--cache"), std::string::npos) << costs.warning();
    add(costs, "conv", 5);
    EXPECT_EQ(find(costs, "conv"), 5);
  }
}

TEST_F(CostTableTest, SharedByWritersAtOnce) {
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([this, w] {
      CostTable costs(folder_);
      EXPECT_EQ(costs.warning(), "");
      for (int i = 0; i < 25; ++i) add(costs, std::to_string(100 * w + i), 1 + i);
    });
  }
  for (std::thread& writer : writers) writer.join();
  CostTable costs(folder_);
  for (int w = 0; w < 4; ++w)
    for (int i = 0; i < 25; ++i) EXPECT_EQ(find(costs, std::to_string(100 * w + i)), 1 + i);
}

}  // namespace
}  // namespace intarsia
