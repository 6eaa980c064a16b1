// Cache of generated code: what one process adds another finds, by key and version; damage, other formats and
// folders that cannot be written cost nothing but the code.
//
// Covers: src/target/ code_cache.cc shared_database.cc
#include "target/code_cache.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;
using Rows = std::map<std::string, std::string>;

class CodeCacheTest : public testing::Test {
 protected:
  static Rows find(CodeCache& cache, const std::vector<std::string>& keys, const std::string& version = "1") {
    return cache.find(keys, version);
  }

  static void add(CodeCache& cache, const std::string& key, const std::string& bytes) {
    const std::pair<std::string, std::string> row(key, bytes);
    cache.add({&row, 1}, "1");
  }

  void edit(const char* sql) const {
    sqlite3* file = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ + "/code.sqlite").c_str(), &file), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(file, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(file);
    sqlite3_close(file);
  }

  const test::TestFolder temporary_;
  const std::string folder_ = temporary_.path().string();
};

TEST_F(CodeCacheTest, FindsByKeyAndVersion) {
  const std::string zeros("\0\0x", 3);
  {
    CodeCache cache(folder_ + "/made/on/the/way");
    add(cache, "conv", zeros);
    add(cache, "gemm", "old");
    add(cache, "gemm", "new");
  }
  CodeCache again(folder_ + "/made/on/the/way");
  EXPECT_EQ(find(again, {"conv", "gemm", "relu"}), (Rows{{"conv", zeros}, {"gemm", "new"}}));
  EXPECT_EQ(find(again, {"conv"}, "2"), Rows());
  EXPECT_EQ(find(again, {}), Rows());
}

TEST_F(CodeCacheTest, DamagedBytesAreNotFound) {
  CodeCache cache(folder_);
  add(cache, "conv", "code of conv");
  add(cache, "gemm", "code of gemm");
  edit("UPDATE code SET bytes = x'00112233' WHERE key = 'conv'");
  EXPECT_EQ(find(cache, {"conv", "gemm"}), (Rows{{"gemm", "code of gemm"}}));
  add(cache, "conv", "code of conv");
  EXPECT_EQ(find(cache, {"conv"}), (Rows{{"conv", "code of conv"}}));
}

TEST_F(CodeCacheTest, ADamagedFileIsStartedOver) {
  std::ofstream(folder_ + "/code.sqlite") << "no database at all";
  CodeCache cache(folder_);
  add(cache, "conv", "code");
  EXPECT_EQ(find(cache, {"conv"}), (Rows{{"conv", "code"}}));
  EXPECT_TRUE(fs::exists(folder_ + "/code.sqlite.damaged"));
}

TEST_F(CodeCacheTest, WorksWithoutAFolder) {
  std::ofstream(folder_ + "/file") << "in the way";
  for (const std::string& folder : {folder_ + "/file", std::string()}) {
    CodeCache cache(folder);
    add(cache, "conv", "code");
    EXPECT_EQ(find(cache, {"conv"}), Rows());
  }
}

TEST_F(CodeCacheTest, DropsWhatWasNotUsedForLongest) {
  CodeCache cache(folder_, 100'000);
  const std::string code(20'000, 'x');
  for (const char* key : {"a", "b", "c"}) add(cache, key, code);
  edit(
      "UPDATE code SET used_at = unixepoch() - 86400 * (CASE key WHEN 'a' THEN 3 WHEN 'b' THEN 9 ELSE 6 "
      "END)");
  EXPECT_EQ(find(cache, {"b"}).size(), 1u);  // which uses it
  add(cache, "d", code);
  add(cache, "e", code);  // now there are more than 100'000 bytes
  EXPECT_EQ(find(cache, {"c"}).size(), 0u);
  for (const char* key : {"b", "d", "e"}) EXPECT_EQ(find(cache, {key}).size(), 1u) << key;
  for (int i = 0; i < 20; ++i) add(cache, std::to_string(i), code);
  EXPECT_LT(fs::file_size(folder_ + "/code.sqlite"), 200'000u);
}

TEST_F(CodeCacheTest, SharedByWritersAtOnce) {
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([this, w] {
      CodeCache cache(folder_);
      for (int i = 0; i < 25; ++i) add(cache, std::to_string(100 * w + i), std::to_string(i));
    });
  }
  for (std::thread& writer : writers) writer.join();
  CodeCache cache(folder_);
  for (int w = 0; w < 4; ++w)
    for (int i = 0; i < 25; ++i) EXPECT_EQ(find(cache, {std::to_string(100 * w + i)}).size(), 1u);
}

}  // namespace
}  // namespace intarsia
