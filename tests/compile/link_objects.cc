// Function link_objects, and the code of a program linked by it.
//
// Covers: src/compile/ link_objects.cc
// src/base/code/ loaded_code.cc
// src/base/files/ temporary_file.cc
#include "compile/link_objects.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "program/verify_machine.h"
#include "runtime/session.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

/// Compiles an object with the C compiler that built this test.
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

/// Makes a program whose output is `number`, a constant in its code.
ProgramMaker program_of(const TestFolder& folder, int number) {
  ProgramMaker maker;
  const std::string source = fmt::format("int intarsia_test_number(void) {{ return {}; }}", number);
  maker.elf = link_objects(std::vector{compile_c(folder, source)}, machine_arch()).value();
  maker.run("symbol", {}, {maker.output("y", {1})});
  return maker;
}

Result<float> run_number(const std::shared_ptr<const LoadedProgram>& program) {
  Session session = TRY(Session::create(TRY(bind_program(program, {}))));
  NamedTensor outputs[] = {{"y", {}, nullptr}};
  TRY(session.run("", {}, outputs));
  return outputs[0].tensor.as<float>()[0];
}

float load_and_run(const std::string& path) {
  const std::vector<RunBackend> backends = {toy_backend()};
  const auto program = load_program(path, backends);
  const Result<float> number = program ? run_number(*program) : tl::unexpected(program.error());
  EXPECT_TRUE(number) << number.error().message;
  return number.value_or(-1);
}

TEST(LoadedPrograms, EachHasItsOwnCodeInAnyOrderOfLoadingAndReleasing) {
  const TestFolder folder;
  ASSERT_TRUE(program_of(folder, 1).write(folder / "one.so"));
  ASSERT_TRUE(program_of(folder, 2).write(folder / "two.so"));
  const std::vector<RunBackend> backends = {toy_backend()};
  const auto first = load_program(folder / "two.so", backends);
  load_program(folder / "two.so", backends).value();  // freed at once: its identity may be reused
  EXPECT_EQ(load_and_run(folder / "one.so"), 1);
  EXPECT_EQ(load_and_run(folder / "two.so"), 2);
  EXPECT_EQ(run_number(*first), 2);
}

TEST(LoadedPrograms, CodeStaysWhenTheFileIsTruncated) {
  const TestFolder folder;
  ASSERT_TRUE(program_of(folder, 5).write(folder / "p.so"));
  const std::vector<RunBackend> backends = {toy_backend()};
  const auto program = load_program(folder / "p.so", backends).value();
  Session session = Session::create(bind_program(program, {}).value()).value();
  std::filesystem::resize_file(folder / "p.so", 0);
  NamedTensor outputs[] = {{"y", {}, nullptr}};
  ASSERT_TRUE(session.run("", {}, outputs));
  EXPECT_EQ(outputs[0].tensor.as<float>()[0], 5);
}

/// Makes the system refuse memory files to this process.
void forbid_memory_files() {
  sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(rules), rules};
  INTARSIA_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  INTARSIA_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

TEST(LoadedPrograms, CodeComesFromATemporaryFileWhereMemoryFilesAreRefused) {
  const TestFolder folder;
  ASSERT_TRUE(program_of(folder, 7).write(folder / "p.so"));
  EXPECT_EXIT(
      {
        forbid_memory_files();
        const float number = load_and_run(folder / "p.so");
        setenv("TMPDIR", "/nowhere", 1);
        const std::vector<RunBackend> backends = {toy_backend()};
        fmt::print(stderr, "{}\n", load_program(folder / "p.so", backends).error().message);
        std::_Exit(static_cast<int>(number));
      },
      testing::ExitedWithCode(7),
      "p.so': the system provides no memory for code: Operation not permitted; nor from a temporary file: "
      "cannot create a temporary file .*set TMPDIR");
}

TEST(LinkObjects, NoObjectsForAnyArch) {
  const struct {
    const char* arch;
    uint16_t machine;
  } cases[] = {{"x86_64", EM_X86_64}, {"aarch64", EM_AARCH64}, {"armv7", EM_ARM}, {"riscv64", EM_RISCV}};
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
  std::string other = link_objects({}, "aarch64").value();
  const auto mixed = link_objects(std::vector{other}, "x86_64");
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("an object to link is for aarch64, but the program is for x86_64"),
            std::string::npos)
      << mixed.error().message;
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const auto none = link_objects({}, "x86_64");
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("install the package lld"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace intarsia::test
