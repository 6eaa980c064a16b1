// A run allocates nothing.
#include <gtest/gtest.h>

#include <cstdlib>

#include <intarsia/intarsia.h>

#include "api/registry_run.h"
#include "runtime/session.h"
#include "tests/count_allocations.h"
#include "tests/runtime_support.h"

std::span<const intarsia::RunBackend> intarsia::run_backends() {
  static const std::vector<RunBackend> backends = {test::toy_backend()};
  return backends;
}

namespace intarsia::test {
namespace {

TEST(Allocations, TheCounterCounts) {
  const uint64_t before = allocation_count();
  void* volatile memory =
      std::malloc(1);  // volatile: the compiler may leave out an allocation that nobody sees
  std::free(memory);
  EXPECT_EQ(allocation_count(), before + 1);
}

TEST(Allocations, NoneInARun) {
  const TestFolder folder;
  ASSERT_TRUE(small_program().write(folder / "p.so"));
  const auto program = load_program(folder / "p.so", run_backends());
  ASSERT_TRUE(program);
  auto session = Session::create(bind_program(*program, {}).value());
  ASSERT_TRUE(session);
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  const NamedTensor inputs[] = {{"x", {x.data(), DType::f32, {4}}, nullptr}};
  NamedTensor outputs[] = {{"y", {y.data(), DType::f32, {4}}, nullptr}};
  const uint64_t before = allocation_count();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(session->run("", inputs, outputs));
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(y[3], 9);
}

TEST(Allocations, NoneInARunThroughTheCApiAfterTheFirst) {
  const TestFolder folder;
  ASSERT_TRUE(small_program().write(folder / "p.so"));
  intarsia_program* program = nullptr;
  intarsia_session* session = nullptr;
  ASSERT_EQ(intarsia_program_load((folder / "p.so").c_str(), &program), nullptr);
  ASSERT_EQ(intarsia_program_bind(program, nullptr, &session), nullptr);
  float x[] = {1, 2, 3, 4}, y[4] = {};
  const int64_t shape[] = {4};
  intarsia_tensor input{
      .struct_size = sizeof(input), .name = "x", .dtype = INTARSIA_F32, .data = x, .rank = 1, .shape = shape};
  intarsia_tensor output = input;
  output.name = "y";
  output.data = y;
  ASSERT_EQ(intarsia_session_run(session, nullptr, &input, 1, &output, 1), nullptr);
  const uint64_t before = allocation_count();
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(intarsia_session_run(session, nullptr, &input, 1, &output, 1), nullptr);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(y[3], 9);
  intarsia_session_release(session);
  intarsia_program_release(program);
}

}  // namespace
}  // namespace intarsia::test
