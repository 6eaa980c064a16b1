// Program file: written completely or not at all, with the same bytes every time; no damage goes unnoticed.
//
// Covers: src/program/ cpu_features_hwcap.cc cpu_features_x86_64.cc print_program.cc read_program.cc
// verify_machine.cc write_program.cc
// src/base/ digest.cc
// src/base/files/ output_file.cc
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/digest.h"
#include "program/print_program.h"
#include "program/read_program.h"
#include "program/verify_machine.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

size_t files_in(const TestFolder& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

std::string error_of(const std::string& path) {
  const auto program = read_program(path);
  return program ? "none" : program.error().message;
}

TEST(ProgramFile, WhatIsWrittenIsRead) {
  const TestFolder folder;
  ProgramMaker maker = small_program();
  const Tensor words(DType::string, {2});
  words.as<std::string>()[0] = "one";
  words.as<std::string>()[1] = std::string("a\0b", 3);
  maker.constants.push_back(words);
  ASSERT_TRUE(maker.write(folder / "p.so"));
  const auto program = read_program(folder / "p.so");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->constants.size(), 2u);
  EXPECT_TRUE(same_tensor(program->constants[0].view(), maker.constants[0].view()));
  EXPECT_TRUE(same_tensor(program->constants[1].view(), words.view()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(program->constants[0].data()) % 64, 0u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(program->blobs[0].data()), 3), "add");
  EXPECT_TRUE(verify_constants(*program));
  const std::string text = print_program(program->description);
  EXPECT_NE(text.find("function main(x: f32[4]) -> (y: f32[4])"), std::string::npos) << text;
  EXPECT_NE(text.find("step 1: run region 1 (toy@cpu) t, x -> y"), std::string::npos) << text;
}

TEST(ProgramFile, SameArgumentsGiveSameBytes) {
  const TestFolder folder;
  ASSERT_TRUE(small_program().write(folder / "a.so"));
  ASSERT_TRUE(small_program().write(folder / "b.so"));
  EXPECT_EQ(read_bytes(folder / "a.so"), read_bytes(folder / "b.so"));
}

TEST(ProgramFile, EqualConstantsAreStoredOnce) {
  const TestFolder folder;
  ProgramMaker maker;
  const std::vector<float> numbers(10000, 3.0f);
  for (int i = 0; i < 3; ++i) maker.constant(numbers);
  maker.constant({});
  maker.constant({5});
  ASSERT_TRUE(maker.write(folder / "p.so"));
  EXPECT_LT(std::filesystem::file_size(folder / "p.so"), 60000u);
  const auto program = read_program(folder / "p.so");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->constants[0].data(), program->constants[2].data());
  EXPECT_EQ(program->constants[4].as<float>()[0], 5.0f);
}

TEST(ProgramFile, FailedWritesLeaveNothing) {
  const TestFolder folder;
  EXPECT_FALSE(small_program().write(folder / "no_such_folder/p.so"));
  std::filesystem::create_directory(folder / "folder.so");
  std::filesystem::create_directory(folder / "folder.so/inside");  // makes a rename onto it fail
  const Status status = small_program().write(folder / "folder.so");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("folder.so"), std::string::npos);
  EXPECT_EQ(files_in(folder), 1u);
  ProgramMaker broken = small_program();
  broken.program.functions[0]->values[0]->space = 9;
  EXPECT_FALSE(broken.write(folder / "p.so"));
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(ProgramFile, ObeysTheUmask) {
  const TestFolder folder;
  const mode_t before = umask(027);
  ASSERT_TRUE(small_program().write(folder / "p.so"));
  umask(before);
  struct stat facts = {};
  ASSERT_EQ(stat((folder / "p.so").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0750u);
}

TEST(ProgramFile, TruncatedAtAnyLength) {
  const TestFolder folder;
  ASSERT_TRUE(small_program().write(folder / "p.so"));
  const std::string bytes = read_bytes(folder / "p.so");
  for (size_t length = 0; length < bytes.size();
       length += length < 64 || length + 300 > bytes.size() ? 1 : 37) {
    write_bytes(folder / "cut.so", std::string_view(bytes).substr(0, length));
    const std::string error = error_of(folder / "cut.so");
    ASSERT_NE(error, "none") << "at length " << length;
    ASSERT_NE(error.find("cut.so"), std::string::npos);
  }
}

TEST(ProgramFile, FlippedBitsAreFoundOrInAConstant) {
  const TestFolder folder;
  ASSERT_TRUE(small_program().write(folder / "p.so"));
  const std::string bytes = read_bytes(folder / "p.so");
  Footer footer;
  std::memcpy(&footer, bytes.data() + bytes.size() - sizeof(footer), sizeof(footer));
  const size_t begin = tail_offset(footer), end = begin + footer.constants_bytes;
  for (size_t at = 0; at<bytes.size(); at += at + 1200> bytes.size() ? 1 : 13) {
    std::string damaged = bytes;
    damaged[at] ^= static_cast<char>(1 << (at % 8));
    write_bytes(folder / "bad.so", damaged);
    const bool in_constants = at >= begin && at < end;
    const auto program = read_program(folder / "bad.so");
    ASSERT_EQ(program.has_value(), in_constants) << "byte " << at;
    const bool in_data = at < begin + 16;  // the only constant; zeros up to 64 follow
    if (in_constants) {
      ASSERT_EQ(verify_constants(*program).has_value(), !in_data) << "byte " << at;
    }
  }
}

TEST(ProgramFile, OtherFormats) {
  const TestFolder folder;
  ASSERT_TRUE(small_program().write(folder / "p.so"));
  std::string bytes = read_bytes(folder / "p.so");
  const auto expect_error = [&](char format, const char* error) {
    bytes[bytes.size() - 16] = format;
    write_bytes(folder / "p.so", bytes);
    EXPECT_NE(error_of(folder / "p.so").find(error), std::string::npos) << error_of(folder / "p.so");
  };
  expect_error(3, "made by a newer Intarsia (format 3, this one reads 2)");
  expect_error(1, "made by an older Intarsia (format 1, this one reads 2): compile the model again");
}

TEST(ProgramFile, OtherFiles) {
  const TestFolder folder;
  write_bytes(folder / "text",
              "no program at all, just some text that is long enough to have a footer in it");
  EXPECT_NE(error_of(folder / "text").find("is a text file, not a compiled program"), std::string::npos);
  EXPECT_NE(error_of(folder / "none").find("cannot open it: No such file"), std::string::npos);
  EXPECT_NE(
      error_of(folder.path().string()).find("is a folder without saved_model.pb, not a compiled program"),
      std::string::npos);
}

TEST(ProgramFile, OtherMachines) {
  fbs::ProgramT program;
  program.arch = "pdp11";
  EXPECT_NE(verify_machine(program).error().message.find("compiled for pdp11, but this machine is"),
            std::string::npos);
  program.arch = machine_arch();
  EXPECT_TRUE(verify_machine(program));
  program.cpu_features = {"quantum"};
  EXPECT_NE(verify_machine(program).error().message.find("'quantum'"), std::string::npos);
}

TEST(Digest, PiecesAreAsOne) {
  Digest digest;
  const std::string text = "intarsia";
  digest.add(std::as_bytes(std::span(text).first(3)));
  digest.add(std::as_bytes(std::span(text).subspan(3)));
  EXPECT_EQ(digest.value(), digest_bytes(text));
}

}  // namespace
}  // namespace intarsia::test
