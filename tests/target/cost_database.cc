// Measured times survive the process, other formats, locks, a full disk, damage to their file and a folder
// that cannot be written.
//
// Covers: src/target/ cost_database.cc
#include "target/cost_database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

class CostDatabaseTest : public testing::Test {
 protected:
  static void add(CostDatabase& costs, const std::string& key, int64_t nanoseconds) {
    const std::pair<std::string, int64_t> time{key, nanoseconds};
    costs.add({&time, 1});
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

/// Another process's.
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

/// During its lifetime this process cannot write any file.
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

TEST_F(CostDatabaseTest, RemembersByKey) {
  {
    CostDatabase costs(folder_ + "/made/on/the/way");
    EXPECT_EQ(costs.warning(), "");
    EXPECT_EQ(costs.find("conv"), std::nullopt);
    add(costs, "conv", 1200);
    add(costs, "conv", 1100);
    add(costs, "gemm", 7);
  }
  CostDatabase again(folder_ + "/made/on/the/way");
  EXPECT_EQ(again.find("conv"), 1100);
  EXPECT_EQ(again.find("gemm"), 7);
  EXPECT_EQ(again.find("con"), std::nullopt);
}

TEST_F(CostDatabaseTest, StartsOverAfterDamage) {
  for (const std::string& bytes :
       {std::string("no database at all"), std::string("SQLite format 3\0", 16) + std::string(4096, 'x')}) {
    std::ofstream(folder_ + "/costs.sqlite", std::ios::trunc) << bytes;
    CostDatabase costs(folder_);
    EXPECT_NE(costs.warning().find("damaged"), std::string::npos) << costs.warning();
    add(costs, "conv", 5);
    EXPECT_EQ(CostDatabase(folder_).find("conv"), 5);
    EXPECT_EQ(read("costs.sqlite.damaged"), bytes);
  }
}

TEST_F(CostDatabaseTest, AnotherFormatIsLeftAlone) {
  {
    CostDatabase costs(folder_);
    add(costs, "conv", 5);
  }
  std::fstream file(folder_ + "/costs.sqlite", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60);  // the user version in the header of the SQLite file format, big endian
  file.write("\0\0\0\x63", 4);
  file.close();
  const std::string bytes = read("costs.sqlite");
  {
    CostDatabase costs(folder_);
    EXPECT_EQ(costs.warning(), "");
    EXPECT_EQ(costs.find("conv"), std::nullopt);
    add(costs, "conv", 7);
  }
  EXPECT_EQ(CostDatabase(folder_).find("conv"), 7);
  EXPECT_EQ(read("costs.sqlite"), bytes);
  EXPECT_EQ(files(), (std::set<std::string>{"costs.sqlite", "costs.1.sqlite"}));
}

TEST_F(CostDatabaseTest, ALockedFileIsLeftAlone) {
  {
    CostDatabase costs(folder_);
    add(costs, "conv", 5);
  }
  for (const char* journal : {"PRAGMA journal_mode = WAL", "PRAGMA journal_mode = DELETE"}) {
    Connection other(folder_ + "/costs.sqlite");
    other.run(journal);
    other.run("BEGIN EXCLUSIVE");
    CostDatabase costs(folder_, 20);
    add(costs, "gemm", 7);
    EXPECT_NE(costs.warning().find("locked"), std::string::npos) << journal << costs.warning();
  }
  EXPECT_EQ(files(), std::set<std::string>{"costs.sqlite"});
  CostDatabase costs(folder_);
  EXPECT_EQ(costs.warning(), "");
  EXPECT_EQ(costs.find("conv"), 5);
  EXPECT_EQ(costs.find("gemm"), std::nullopt);
}

TEST_F(CostDatabaseTest, AFileWithoutSpaceIsLeftAlone) {
  {
    CostDatabase costs(folder_);
    add(costs, "conv", 5);
  }
  {
    CostDatabase costs(folder_);
    const FullDisk full;
    add(costs, "gemm", 7);
    EXPECT_NE(costs.warning().find("--cache"), std::string::npos) << costs.warning();
    EXPECT_EQ(costs.find("conv"), 5);
    CostDatabase fresh(folder_ + "/new");
    EXPECT_NE(fresh.warning().find("--cache"), std::string::npos) << fresh.warning();
    CostDatabase second(folder_);
  }
  CostDatabase costs(folder_);
  EXPECT_EQ(costs.find("conv"), 5);
  EXPECT_EQ(costs.find("gemm"), std::nullopt);
  add(costs, "gemm", 7);
  EXPECT_EQ(costs.warning(), "");
  EXPECT_FALSE(fs::exists(folder_ + "/costs.sqlite.damaged"));
}

TEST_F(CostDatabaseTest, WorksWithoutAFile) {
  std::ofstream(folder_ + "/file") << "in the way";
  for (const std::string& folder : {folder_ + "/file", std::string()}) {
    CostDatabase costs(folder);
    EXPECT_NE(costs.warning().find("--cache"), std::string::npos) << costs.warning();
    add(costs, "conv", 5);
    EXPECT_EQ(costs.find("conv"), 5);
  }
}

TEST_F(CostDatabaseTest, SharedByWritersAtOnce) {
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([this, w] {
      CostDatabase costs(folder_);
      EXPECT_EQ(costs.warning(), "");
      for (int i = 0; i < 25; ++i) add(costs, std::to_string(100 * w + i), 1 + i);
    });
  }
  for (std::thread& writer : writers) writer.join();
  CostDatabase costs(folder_);
  for (int w = 0; w < 4; ++w)
    for (int i = 0; i < 25; ++i) EXPECT_EQ(costs.find(std::to_string(100 * w + i)), 1 + i);
}

}  // namespace
}  // namespace intarsia
