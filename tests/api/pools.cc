// Pools of sessions, programs from bytes, and outputs in memory that the caller allocates, by the C API and
// its C++ wrapper.
//
// Covers: src/api/ pool_api.cc session_handle.cc
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "api/run_backends.h"
#include "tests/support/runtime_support.h"

// Comes last: programs include this or the library's internals, never both.
#include <intarsia/intarsia.hpp>

namespace intarsia::test {
namespace {

namespace api = ::intarsia::v1;

class Pools : public testing::Test {
 protected:
  api::Program load(const ProgramMaker& maker) {
    INTARSIA_CHECK(maker.write(folder_ / "p.so"));
    return api::Program::load(folder_ / "p.so");
  }
  static ProgramMaker slow_program() {
    ProgramMaker maker;
    const uint32_t x = maker.input("x", {1}), y = maker.output("y", {1});
    maker.run("slow", {x}, {y});
    return maker;
  }
  TestFolder folder_;
};

/// Runs x = {number} in a pool, from as many threads as there are results. Returns the outputs.
std::vector<float> run_in_threads(const api::Pool& pool, size_t count) {
  std::vector<float> results(count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      auto x = static_cast<float>(i);
      pool.run({{"x", {&x, {1}}}}, {{"y", {&results[i], {1}}}});
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST_F(Pools, ManyThreadsRunOneProgram) {
  const api::Pool pool = load(slow_program()).pool({.max_idle = 2});
  EXPECT_EQ(pool.sessions(), 0u);
  EXPECT_EQ(run_in_threads(pool, 6), (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(pool.sessions(), 2u);  // of up to six
  EXPECT_EQ(pool.idle_sessions(), 2u);
}

TEST_F(Pools, RunsWaitWhereSessionsAreLimited) {
  const api::Pool pool = load(slow_program()).pool({.max_sessions = 2, .max_idle = 8});
  EXPECT_EQ(run_in_threads(pool, 6), (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_LE(pool.sessions(), 2u);
  EXPECT_EQ(pool.idle_sessions(), pool.sessions());
}

TEST_F(Pools, ABadInputCostsNoSession) {
  const api::Pool pool = load(small_program()).pool();
  std::vector<float> x(4), y(4);
  const std::vector<api::NamedView> outputs = {{"y", {y.data(), {4}}}};
  EXPECT_THROW(pool.run({}, outputs), api::Error);
  EXPECT_EQ(pool.idle_sessions(), 1u);
  pool.run({{"x", {x.data(), {4}}}}, outputs);
  EXPECT_EQ(pool.sessions(), 1u);
}

TEST_F(Pools, ARunThatFailsLeavesItsSession) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {1}), y = maker.output("y", {1});
  maker.run("throw", {x}, {y});
  const api::Pool pool = load(maker).pool({.max_sessions = 1});
  for (int i = 0; i < 3; ++i) {
    float number = 1;
    EXPECT_THROW(pool.run({{"x", {&number, {1}}}}, {{"y", {&number, {1}}}}), api::Error);
    EXPECT_EQ(pool.idle_sessions(), 1u);
  }
}

TEST_F(Pools, OptionsAreChecked) {
  const api::Program program = load(small_program());
  const api::Pool pool = program.pool({.devices = {{"gpu", "cpu"}}});
  EXPECT_THROW(pool.compute({}, {"y"}), api::Error);
  EXPECT_EQ(pool.sessions(), 0u);
  intarsia_pool* none = nullptr;
  const intarsia_pool_options old{};
  for (intarsia_error* error :
       {intarsia_program_pool(program.get(), &old, &none), intarsia_program_pool(nullptr, nullptr, &none),
        intarsia_program_pool(program.get(), nullptr, nullptr),
        intarsia_pool_run(nullptr, nullptr, nullptr, 0, nullptr, 0)}) {
    EXPECT_NE(error, nullptr);
    intarsia_error_release(error);
  }
  intarsia_pool_release(nullptr);
}

TEST_F(Pools, AProgramFromBytes) {
  INTARSIA_CHECK(small_program().write(folder_ / "p.so"));
  std::string bytes = read_bytes(folder_ / "p.so");
  const api::Program program = api::Program::load_bytes(bytes.data(), bytes.size());
  std::fill(bytes.begin(), bytes.end(), '\0');  // they were copied
  std::vector<float> x = {1, 2, 3, 4};
  EXPECT_EQ(program.compute({{"x", {x.data(), {4}}}}, {"y"})[0].data<float>()[3], 9);
  intarsia_program* none = nullptr;
  intarsia_error* error = intarsia_program_load_bytes(bytes.data(), bytes.size(), &none);
  EXPECT_EQ(intarsia_error_kind(error), INTARSIA_ERROR_CORRUPT);
  intarsia_error_release(error);
}

/// Memory of outputs that the caller allocates.
struct Memory {
  std::vector<float> numbers = std::vector<float>(8);
  std::string asked = {};  // what for
  bool is_empty = false;

  static void* allocate(void* user, const intarsia_tensor* output, size_t bytes) {
    auto& memory = *static_cast<Memory*>(user);
    memory.asked = std::string(output->name) + " " + std::to_string(output->shape[0]) + " " +
                   std::to_string(output->dtype) + " " + std::to_string(bytes);
    return memory.is_empty ? nullptr : memory.numbers.data();
  }
};

intarsia_tensor argument(const char* name, float* numbers, const int64_t* size) {
  intarsia_tensor tensor{};
  tensor.struct_size = sizeof(tensor);
  tensor.name = name;
  tensor.data = numbers;
  tensor.dtype = INTARSIA_F32;
  tensor.rank = 1;
  tensor.shape = size;
  return tensor;
}

TEST_F(Pools, TheCallerAllocatesOutputsOnceTheirSizeIsKnown) {
  const api::Program program = load(open_chain(100));
  Memory memory;
  std::vector<float> x(3, 2);
  const int64_t size = 3;
  const intarsia_tensor input = argument("x", x.data(), &size);
  intarsia_tensor output = argument("y", nullptr, nullptr);
  output.allocate = Memory::allocate;
  output.allocate_user = &memory;
  const api::Pool pool = program.pool();
  ASSERT_EQ(intarsia_pool_run(pool.get(), nullptr, &input, 1, &output, 1), nullptr);
  EXPECT_EQ(memory.asked, "y 3 1 12");
  EXPECT_EQ(output.data, memory.numbers.data());
  EXPECT_EQ(output.shape[0], 3);
  EXPECT_EQ(memory.numbers, (Floats{32, 32, 32, 0, 0, 0, 0, 0}));
  intarsia_tensor_release(&output);
  EXPECT_EQ(memory.numbers[0], 32);

  memory.is_empty = true;
  intarsia_error* error = intarsia_pool_run(pool.get(), nullptr, &input, 1, &output, 1);
  EXPECT_EQ(intarsia_error_kind(error), INTARSIA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(std::string(intarsia_error_message(error)), "output 'y': its allocator has no 12 bytes for 3");
  intarsia_error_release(error);
}

TEST_F(Pools, WhatOnlyARunSizesIsTheLibrarys) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {-1});
  maker.run("positive", {x}, {maker.dynamic_output("kept", {-1})});
  const api::Program program = load(maker);
  Memory memory;
  std::vector<float> numbers = {1, -2, 3};
  const int64_t size = 3;
  const intarsia_tensor input = argument("x", numbers.data(), &size);
  intarsia_tensor output = argument("kept", nullptr, nullptr);
  output.allocate = Memory::allocate;
  output.allocate_user = &memory;
  ASSERT_EQ(intarsia_pool_run(program.pool().get(), nullptr, &input, 1, &output, 1), nullptr);
  EXPECT_EQ(memory.asked, "");
  EXPECT_EQ(output.shape[0], 2);
  EXPECT_EQ(static_cast<float*>(output.data)[1], 3);
  intarsia_tensor_release(&output);
}

TEST_F(Pools, ACallerWithAnOlderHeaderHasNoAllocator) {
  const api::Program program = load(small_program());
  struct {
    intarsia_tensor tensor;
  } older{};
  std::vector<float> x(4, 1);
  const int64_t size = 4;
  intarsia_tensor input = argument("x", x.data(), &size);
  older.tensor = argument("y", nullptr, nullptr);
  input.struct_size = older.tensor.struct_size = offsetof(intarsia_tensor, allocate);
  older.tensor.allocate = Memory::allocate;  // bytes behind the caller's struct
  ASSERT_EQ(intarsia_pool_run(program.pool().get(), nullptr, &input, 1, &older.tensor, 1), nullptr);
  EXPECT_EQ(static_cast<float*>(older.tensor.data)[3], 3);
  intarsia_tensor_release(&older.tensor);
}

}  // namespace
}  // namespace intarsia::test
