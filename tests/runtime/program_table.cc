// Table of a process's programs: users of the same bytes share one, which is freed with its last user.
//
// Covers: src/runtime/ program_table.cc
#include "runtime/program_table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

#include "base/bytes.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

using Shared = std::shared_ptr<const LoadedProgram>;

/// Makes y = x + (1, 2, 3, `last`).
ProgramMaker program_with(float last) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {4}), y = maker.output("y", {4});
  maker.run("add", {x}, {y}, 0, {maker.constant({1, 2, 3, last})});
  return maker;
}

class ProgramTable : public testing::Test {
 protected:
  std::string write(const std::string& name, float last = 4) {
    INTARSIA_CHECK(program_with(last).write(folder_ / name));
    return folder_ / name;
  }
  Shared share(const std::string& path) const { return share_program(path, backends_).value(); }
  Shared share_bytes(std::string_view bytes) const {
    return share_program(as_bytes(bytes), backends_).value();
  }

  const TestFolder folder_;
  std::vector<RunBackend> backends_ = {toy_backend()};
};

TEST_F(ProgramTable, UsersOfOneFileInManyThreadsShareIt) {
  const std::string path = write("p.so");
  std::array<Shared, 64> users;
  std::vector<std::thread> threads;
  for (int first = 0; first < 8; ++first)
    threads.emplace_back([&, first] {
      for (size_t i = static_cast<size_t>(first); i < users.size(); i += 8) users[i] = share(path);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Shared& user : users) EXPECT_EQ(user, users[0]);
  EXPECT_EQ(users[0].use_count(), 64);
}

TEST_F(ProgramTable, EqualBytesFromAnywhereShareOneProgram) {
  const std::string path = write("p.so"), bytes = read_bytes(path);
  std::filesystem::create_directory(folder_ / "other");
  const Shared first = share_bytes(bytes);
  EXPECT_EQ(share_bytes(std::string(bytes)), first);
  EXPECT_EQ(share(path), first);
  EXPECT_EQ(share(write("other/p.so")), first);
  EXPECT_NE(share(write("q.so", 5)), first);
}

TEST_F(ProgramTable, ItIsFreedWithItsLastUser) {
  const std::string path = write("p.so");
  Shared first = share(path), second = share(path);
  const std::weak_ptr<const LoadedProgram> program = first;
  first.reset();
  EXPECT_FALSE(program.expired());
  second.reset();
  EXPECT_TRUE(program.expired());
}

TEST_F(ProgramTable, ADamagedCopyIsAnother) {
  const std::string path = write("p.so");
  const Shared whole = share(path);
  std::string bytes = read_bytes(path);
  const std::array<float, 4> constants = {1, 2, 3, 4};
  const size_t at = bytes.find({reinterpret_cast<const char*>(constants.data()), sizeof(constants)});
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 1;
  const Shared damaged = share_bytes(bytes);
  EXPECT_NE(damaged, whole);
  EXPECT_TRUE(verify_constants(whole->file()));
  EXPECT_FALSE(verify_constants(damaged->file()));
}

TEST_F(ProgramTable, AFileThatWasReplacedOrChangedIsLoadedAgain) {
  const std::string path = write("p.so");
  const Shared first = share(path);
  std::filesystem::rename(write("q.so", 5), path);
  const Shared second = share(path);
  EXPECT_NE(second, first);
  write_bytes(path, read_bytes(path));
  EXPECT_NE(share(path), second);  // whose pages may have changed
  EXPECT_EQ(share(write("r.so")), first);
}

TEST_F(ProgramTable, ProgramsThatSearchTheirFolderShareWithinIt) {
  backends_[0].searches_folder = true;
  std::filesystem::create_directory(folder_ / "other");
  const Shared first = share(write("p.so"));
  EXPECT_EQ(share(write("copy.so")), first);
  EXPECT_NE(share(write("other/p.so")), first);
}

TEST_F(ProgramTable, AProgramIsForTheBackendsThatItFound) {
  const std::string path = write("p.so");
  const Shared first = share(path);
  backends_.push_back(toy_backend());
  backends_.back().name = "plug-in";
  EXPECT_NE(share(path), first);
}

TEST_F(ProgramTable, AChildOfForkLoadsItsOwn) {
  const std::string path = write("p.so");
  const Shared parents = share(path);
  const pid_t child = fork();
  if (child == 0) _exit(share(path) != parents && share(path) != nullptr ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(ProgramTable, BytesThatAreNoProgramAreErrors) {
  EXPECT_EQ(share_program(as_bytes(std::string_view("no")), backends_).error().message,
            "program '2 bytes in memory': not an Intarsia program, or truncated: it has 2 bytes");
  EXPECT_FALSE(share_program(std::span<const std::byte>(), backends_));
  std::string bytes = read_bytes(write("p.so"));
  for (size_t size : {bytes.size() / 2, bytes.size() - 1})
    EXPECT_FALSE(share_program(as_bytes(std::string_view(bytes).substr(0, size)), backends_));
}

}  // namespace
}  // namespace intarsia::test
