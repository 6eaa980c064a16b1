// link_objects, and code of a program that was linked by it.
#include "compile/link_objects.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "program/verify_machine.h"
#include "runtime/session.h"
#include "tests/runtime_support.h"

namespace intarsia::test {
namespace {

/// An object made by the C compiler that this was built with.
std::string compile_c(const TestFolder& folder, const std::string& source) {
  write_bytes(folder / "code.c", source);
  const std::string command = fmt::format("{} -c -fPIC -O1 -ffunction-sections -o {} {}", INTARSIA_C_COMPILER,
                                          folder / "code.o", folder / "code.c");
  INTARSIA_CHECK(std::system(command.c_str()) == 0);
  return read_bytes(folder / "code.o");
}

TEST(LinkObjects, CodeRunsAndOnlyItsExportsShow) {
  const TestFolder folder;
  ProgramMaker maker;
  const std::string object = compile_c(
      folder, "int helper(int x) { return x * 6; } int intarsia_test_number(void) { return helper(7); }");
  maker.elf = link_objects(std::vector{object}, machine_arch()).value();
  EXPECT_EQ(maker.elf, link_objects(std::vector{object}, machine_arch()).value());
  maker.run("symbol", {}, {maker.output("y", {1})});
  ASSERT_TRUE(maker.write(folder / "p.so"));
  const std::vector<RunBackend> backends = {toy_backend()};
  const auto program = load_program(folder / "p.so", backends);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_NE((*program)->symbol("intarsia_test_number"), nullptr);
  EXPECT_EQ((*program)->symbol("helper"), nullptr);
  auto session = Session::create(bind_program(*program, {}).value());
  ASSERT_TRUE(session);
  NamedTensor outputs[] = {{"y", {}, nullptr}};
  ASSERT_TRUE(session->run("", {}, outputs));
  EXPECT_EQ(outputs[0].tensor.as<float>()[0], 42);
}

TEST(LinkObjects, NoObjectsForAnyArch) {
  const struct {
    const char* arch;
    uint16_t machine;
  } cases[] = {{"x86_64", EM_X86_64}, {"aarch64", EM_AARCH64}, {"riscv64", EM_RISCV}};
  for (const auto& one : cases) {
    const auto elf = link_objects({}, one.arch);
    ASSERT_TRUE(elf) << elf.error().message;
    Elf64_Ehdr header;
    ASSERT_GE(elf->size(), sizeof(header));
    std::memcpy(&header, elf->data(), sizeof(header));
    EXPECT_EQ(header.e_machine, one.machine);
    EXPECT_EQ(header.e_type, ET_DYN);
    EXPECT_LT(elf->size(), 8192u);
  }
}

TEST(LinkObjects, Errors) {
  EXPECT_NE(link_objects({}, "z80").error().message.find("cannot link for 'z80'"), std::string::npos);
  const auto garbage = link_objects(std::vector<std::string>{"no object"}, "x86_64");
  ASSERT_FALSE(garbage);
  EXPECT_NE(garbage.error().message.find("0.o"), std::string::npos) << garbage.error().message;
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const auto none = link_objects({}, "x86_64");
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("install the package lld"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace intarsia::test
