// Allocations of a run: there are none.
//
// Covers: src/runtime/ session.cc
// src/api/ run_api.cc
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include <intarsia/intarsia.h>

#include "api/run_backends.h"
#include "runtime/session.h"
#include "tests/support/count_allocations.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

TEST(Allocations, TheCounterCounts) {
  const uint64_t before = allocation_count();
  void* volatile memory = std::malloc(1);  // volatile: the compiler may drop an unused allocation
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

TEST(Allocations, NoneAtSizesThatWereRunBefore) {
  const TestFolder folder;
  ASSERT_TRUE(open_chain(1'000'000'000).write(folder / "p.so"));
  auto session =
      Session::create(bind_program(load_program(folder / "p.so", run_backends()).value(), {}).value());
  ASSERT_TRUE(session);
  Floats x(64, 1), y(64);
  const auto allocations_at = [&](int64_t size) {
    const NamedTensor inputs[] = {floats("x", x, {size})};
    NamedTensor outputs[] = {floats("y", y, {size})};
    const uint64_t before = allocation_count();
    EXPECT_TRUE(session->run("", inputs, outputs));
    return allocation_count() - before;
  };
  for (const int64_t size : {64, 3, 17, 40}) EXPECT_GT(allocations_at(size), 0u) << size;
  for (const int64_t size : {17, 64, 40, 3, 3, 64}) EXPECT_EQ(allocations_at(size), 0u) << size;
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

/// Makes a call with every allocation failing, then all but the first, and so on until it works. Until then
/// it must report each failure, and nothing throws or aborts.
template <typename Call>
void fail_at_every_allocation(const char* what, Call call) {
  for (uint64_t from = 0;; ++from) {
    fail_allocations_from(from);
    intarsia_error* error = call();
    allow_allocations();
    if (error == nullptr) return;
    ASSERT_STRNE(intarsia_error_message(error), "") << what << ", allocation " << from;
    if (from == 0) {
      EXPECT_STREQ(intarsia_error_message(error), "out of memory") << what;
    }
    intarsia_error_release(error);
  }
}

TEST(OutOfMemory, IsAnErrorOfEveryCall) {
  const TestFolder folder;
  ProgramMaker maker = small_program();
  maker.run("positive", {0}, {maker.dynamic_output("dynamic", {-1})});
  ASSERT_TRUE(maker.write(folder / "p.so"));
  const std::string path = folder / "p.so";
  intarsia_program* program = nullptr;
  intarsia_session* session = nullptr;
  fail_at_every_allocation("load", [&] { return intarsia_program_load(path.c_str(), &program); });
  fail_allocations_from(0);
  EXPECT_EQ(intarsia_device_count(), 0u);
  EXPECT_STREQ(intarsia_program_text(program), "");
  allow_allocations();
  EXPECT_STRNE(intarsia_program_text(program), "");
  EXPECT_GE(intarsia_device_count(), 1u);
  fail_at_every_allocation("verify", [&] { return intarsia_program_verify(program); });
  fail_at_every_allocation("bind", [&] { return intarsia_program_bind(program, nullptr, &session); });
  const auto trace = [](void*, const intarsia_trace_event*) {};
  fail_at_every_allocation("set_trace", [&] { return intarsia_session_set_trace(session, trace, nullptr); });
  const auto dump = [](void*, const intarsia_tensor*) {};
  fail_at_every_allocation("set_dump", [&] { return intarsia_session_set_dump(session, dump, nullptr); });
  float x[] = {1, -2, 3, 4};
  const int64_t shape[] = {4};
  const intarsia_tensor input{
      .struct_size = sizeof(input), .name = "x", .dtype = INTARSIA_F32, .data = x, .rank = 1, .shape = shape};
  intarsia_tensor outputs[] = {{.struct_size = sizeof(input), .name = "y"},
                               {.struct_size = sizeof(input), .name = "dynamic"}};
  fail_at_every_allocation("run", [&] {
    intarsia_error* error = intarsia_session_run(session, nullptr, &input, 1, outputs, 2);
    const bool has_owner = outputs[0].owner != nullptr || outputs[1].owner != nullptr;
    EXPECT_EQ(has_owner, error == nullptr);
    return error;
  });
  EXPECT_EQ(static_cast<float*>(outputs[0].data)[3], 9);
  EXPECT_EQ(static_cast<float*>(outputs[1].data)[1], 3);
  for (intarsia_tensor& output : outputs) intarsia_tensor_release(&output);
  intarsia_session_release(session);
  intarsia_program_release(program);
}

/// Leaves this process too little address space for the stack of another thread.
void limit_address_space() {
  std::ifstream status("/proc/self/statm");
  uint64_t pages = 0;
  status >> pages;
  const rlimit limit{pages * 4096 + (4 << 20), RLIM_INFINITY};
  INTARSIA_CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

TEST(OutOfMemory, ThreadsThatCannotStartAreAnError) {
  if (CoreSet::of_this_thread().size() < 2) GTEST_SKIP() << "one core, no threads";
  const TestFolder folder;
  ASSERT_TRUE(small_program().write(folder / "p.so"));
  const auto bound = bind_program(load_program(folder / "p.so", run_backends()).value(), {{}, 2}).value();
  EXPECT_EXIT(
      {
        limit_address_space();
        const auto session = Session::create(bound);
        fmt::print(stderr, "{}\n", session ? "none" : session.error().message);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      "cannot start the 2 threads of a session: Resource temporarily unavailable");
}

}  // namespace
}  // namespace intarsia::test
