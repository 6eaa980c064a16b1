// Files and folders that disappear with their object.
//
// Covers: src/base/files/ temporary_file.cc temporary_folder.cc
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/files/temporary_file.h"
#include "base/files/temporary_folder.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, GoesWithAllThatIsInIt) {
  fs::path path;
  {
    Result<TemporaryFolder> made = TemporaryFolder::make("intarsia-folder");
    ASSERT_TRUE(made);
    const TemporaryFolder folder = std::move(*made);
    path = folder.path();
    EXPECT_TRUE(path.filename().string().starts_with("intarsia-folder-"));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directory(folder / "inner");
    std::ofstream(folder / "inner/file") << "text";
    EXPECT_TRUE(fs::exists(path / "inner/file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, IsMovedOverAnother) {
  TemporaryFolder first = TemporaryFolder::make("intarsia-folder").value();
  const fs::path before = first.path();
  {
    TemporaryFolder second = TemporaryFolder::make("intarsia-folder").value();
    const fs::path kept = second.path();
    first = std::move(second);
    EXPECT_EQ(first.path(), kept);
  }
  EXPECT_FALSE(fs::exists(before));
  EXPECT_TRUE(fs::exists(first.path()));
}

TEST(TemporaryFile, GoesWithItsObject) {
  std::string path;
  {
    const TemporaryFile file = TemporaryFile::make("intarsia-file").value();
    path = file.path();
    EXPECT_EQ(fs::file_size(path), 0u);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFiles, WithoutAFolderForThemAreErrors) {
  setenv("TMPDIR", "/nowhere", 1);
  for (const Error& error : {TemporaryFolder::make("x").error(), TemporaryFile::make("x").error()}) {
    EXPECT_EQ(error.kind, ErrorKind::io);
    EXPECT_NE(error.message.find("set TMPDIR to a folder that can be written"), std::string::npos);
  }
  unsetenv("TMPDIR");
}

}  // namespace
}  // namespace intarsia
