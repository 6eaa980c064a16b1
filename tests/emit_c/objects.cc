// Covers: src/emit_c/ archive.cc elf_file.cc
// src/base/ elf_machine.cc
#include <gtest/gtest.h>

#include <random>

#include "emit_c/archive.h"
#include "emit_c/elf_file.h"

namespace intarsia {
namespace {

std::string data_object(Arch arch, const std::string& symbol, const std::string& data) {
  const DataObject object = make_data_object(arch, symbol, data.size());
  return object.before + data + object.after;
}

TEST(ElfFile, DataObjectsHaveOneSymbol) {
  for (const Arch arch : {Arch::x86_64, Arch::aarch64, Arch::armv7, Arch::riscv64})
    for (const size_t bytes : {0, 1, 63, 64, 4097}) {
      const auto contents = read_object(data_object(arch, "weights", std::string(bytes, 'w')));
      ASSERT_TRUE(contents) << arch_name(arch) << " " << bytes;
      EXPECT_EQ(contents->symbols, std::vector<std::string>{"weights"});
      EXPECT_EQ(contents->data_bytes, bytes);
      EXPECT_EQ(contents->code_bytes + contents->writable_bytes, 0);
    }
}

TEST(ElfFile, DamagedObjectsAreErrorsOrOthers) {
  std::mt19937 random(3);
  for (const Arch arch : {Arch::x86_64, Arch::armv7}) {
    const std::string object = data_object(arch, "weights", std::string(70, 'w'));
    for (size_t bytes = 0; bytes < object.size(); ++bytes) (void)read_object(object.substr(0, bytes));
    for (int round = 0; round < 20000; ++round) {
      std::string damaged = object;
      for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      (void)read_object(damaged);
    }
  }
}

TEST(Archive, IndexSaysWhichMemberDefinesASymbol) {
  const std::string one = data_object(Arch::x86_64, "one", "1"), two = data_object(Arch::x86_64, "two", "22");
  const std::string archive =
      *make_archive(std::vector<ArchiveMember>{{"a long name of a member.o", one}, {"two.o", two}});
  EXPECT_TRUE(archive.starts_with("!<arch>\n/               "));
  const size_t index = 8 + 60;
  const auto number = [&](size_t at) {
    size_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(archive[index + 4 * at + i]);
    return value;
  };
  ASSERT_EQ(number(0), 2);
  EXPECT_EQ(archive.substr(index + 12, 8), std::string("one\0two\0", 8));
  EXPECT_EQ(archive.substr(number(1) + 60, one.size()), one);
  EXPECT_EQ(archive.substr(number(2) + 60, two.size()), two);
}

TEST(Archive, MembersAreObjects) {
  EXPECT_FALSE(make_archive(std::vector<ArchiveMember>{{"text.o", "text"}}));
}

}  // namespace
}  // namespace intarsia
