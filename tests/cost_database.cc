// Measured times survive the process, damage to their file and a folder that cannot be written.
#include "target/cost_database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace intarsia {
namespace {

namespace fs = std::filesystem;

class CostDatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "intarsia-costs-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void add(CostDatabase& costs, const std::string& key, int64_t nanoseconds) {
    const std::pair<std::string, int64_t> time{key, nanoseconds};
    costs.add({&time, 1});
  }

  std::string folder_;
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

TEST_F(CostDatabaseTest, BeginsAnewAfterDamage) {
  for (const std::string& bytes : {std::string("no database at all"), std::string("SQLite format 3\0", 16) + std::string(4096, 'x')}) {
    std::ofstream(folder_ + "/costs.sqlite", std::ios::trunc) << bytes;
    CostDatabase costs(folder_);
    EXPECT_NE(costs.warning().find("damaged"), std::string::npos) << costs.warning();
    add(costs, "conv", 5);
    EXPECT_EQ(CostDatabase(folder_).find("conv"), 5);
  }
}

TEST_F(CostDatabaseTest, AnotherFormatIsNotRead) {
  { CostDatabase costs(folder_); add(costs, "conv", 5); }
  std::fstream file(folder_ + "/costs.sqlite", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60);  // the user version in the header of the SQLite file format, big endian
  file.write("\0\0\0\x63", 4);
  file.close();
  CostDatabase costs(folder_);
  EXPECT_NE(costs.warning(), "");
  EXPECT_EQ(costs.find("conv"), std::nullopt);
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
