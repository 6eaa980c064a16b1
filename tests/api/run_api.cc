// C API and its C++ wrapper, over the toy backend.
//
// Covers: src/api/ external_tensor.cc file_api.cc fill_api.cc run_api.cc run_api_describe.cc
// src/base/ fill_tensor.cc result.cc
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "api/run_backends.h"
#include "tests/support/runtime_support.h"

// Comes last: programs include this or the library's internals, never both; names such as Session are in
// both.
#include <intarsia/intarsia.hpp>

namespace intarsia::test {
namespace {

// The wrapper's names clash with those of the library's internals, which this test includes too.
namespace api = ::intarsia::v1;

std::string message(intarsia_error* error) {
  const std::string text = error == nullptr ? "none" : intarsia_error_message(error);
  intarsia_error_release(error);
  return text;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class ApiTest : public testing::Test {
 protected:
  std::string write(const ProgramMaker& maker) {
    const Status status = maker.write(folder_ / "p.so");
    EXPECT_TRUE(status) << status.error().message;
    return folder_ / "p.so";
  }
  TestFolder folder_;
};

intarsia_tensor named(const char* name) {
  intarsia_tensor tensor{};
  tensor.struct_size = sizeof(tensor);
  tensor.name = name;
  return tensor;
}

TEST_F(ApiTest, TheWrapperLoadsBindsAndRuns) {
  auto program = api::Program::load(write(small_program()));
  auto session = program.bind({{"cpu", "cpu"}}, 2);
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  session.run({{"x", {x.data(), {4}}}}, {{"y", {y.data(), {4}}}});
  EXPECT_EQ(y, (std::vector<float>{3, 5, 7, 9}));
  const std::vector<api::Value> values = session.compute({{"x", {x.data(), {4}}}}, {"y"});
  EXPECT_EQ(values[0].shape(), (std::vector<int64_t>{4}));
  EXPECT_EQ(values[0].data<float>()[2], 7);
  EXPECT_THROW(values[0].data<int>(), api::Error);
  const std::vector<api::Function> functions = program.functions();
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].inputs[0].name, "x");
  EXPECT_EQ(functions[0].outputs[0].shape, (std::vector<int64_t>{4}));
  EXPECT_HAS(program.text(), "function main(x: f32[4])");
  program.verify();
}

TEST_F(ApiTest, TheWrapperThrows) {
  try {
    api::Program::load("/no/such/program.so");
    FAIL();
  } catch (const api::Error& error) {
    EXPECT_HAS(std::string(error.what()), "program '/no/such/program.so': cannot open it");
  }
  EXPECT_THROW(api::Program::load(write(small_program())).bind({{"gpu", "cpu"}}), api::Error);
}

TEST_F(ApiTest, SessionsAndValuesOutliveTheProgram) {
  std::vector<api::Value> values;
  std::vector<float> x = {1, 2, 3, 4};
  {
    api::Session session = api::Program::load(write(small_program())).bind();
    values = session.compute({{"x", {x.data(), {4}}}}, {"y"});
  }
  EXPECT_EQ(values[0].data<float>()[3], 9);
}

TEST_F(ApiTest, ManyThreadsRunOneProgram) {
  const auto program = api::Program::load(write(small_program()));
  std::atomic<int> right{0};
  const auto work = [&](float number) {
    for (int i = 0; i < 50; ++i, ++number) {
      std::vector<float> x(4, number), y(4);
      program.run({{"x", {x.data(), {4}}}}, {{"y", {y.data(), {4}}}});
      const std::vector<api::Value> values = program.compute({{"x", {x.data(), {4}}}}, {"y"});
      right += y[3] == 2 * number + 1 && values[0].data<float>()[0] == y[0];
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, static_cast<float>(i * 1000));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 50);
  EXPECT_THROW(program.run({}, {}), api::Error);
}

int32_t kind_of(intarsia_error* error) {
  const int32_t kind = intarsia_error_kind(error);
  intarsia_error_release(error);
  return kind;
}

TEST_F(ApiTest, ErrorsHaveAKind) {
  intarsia_program* program = nullptr;
  EXPECT_EQ(intarsia_error_kind(nullptr), 0);
  EXPECT_EQ(kind_of(intarsia_program_load(nullptr, &program)), INTARSIA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(intarsia_program_load("/nowhere/p.so", &program)), INTARSIA_ERROR_NOT_FOUND);
  EXPECT_EQ(kind_of(intarsia_program_load("/dev/null", &program)), INTARSIA_ERROR_IO);
  EXPECT_EQ(kind_of(intarsia_program_load("/proc/self/exe", &program)), INTARSIA_ERROR_CORRUPT);
  try {
    api::Program::load("/nowhere/p.so");
    FAIL();
  } catch (const api::Error& error) {
    EXPECT_EQ(error.kind(), INTARSIA_ERROR_NOT_FOUND);
  }
}

TEST_F(ApiTest, ASessionInUseIsAnError) {
  auto session = api::Program::load(write(small_program())).bind();
  struct Seen {
    intarsia_session* session;
    std::string run, trace, dump;
    int32_t kind;
  } seen{session.get(), "", "", "", 0};
  const auto from_another_thread = [](void* user, const intarsia_tensor*) {
    std::thread([&seen = *static_cast<Seen*>(user)] {
      seen.run = message(intarsia_session_run(seen.session, nullptr, nullptr, 0, nullptr, 0));
      seen.kind = kind_of(intarsia_session_run(seen.session, nullptr, nullptr, 0, nullptr, 0));
      seen.trace = message(intarsia_session_set_trace(seen.session, nullptr, nullptr));
      seen.dump = message(intarsia_session_set_dump(seen.session, nullptr, nullptr));
    }).join();
  };
  ASSERT_EQ(message(intarsia_session_set_dump(session.get(), from_another_thread, &seen)), "none");
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  session.run({{"x", {x.data(), {4}}}}, {{"y", {y.data(), {4}}}});
  EXPECT_EQ(y[3], 9);
  for (const std::string& error : {seen.run, seen.trace, seen.dump})
    EXPECT_HAS(error, "the session is in use by another thread");
  EXPECT_EQ(seen.kind, INTARSIA_ERROR_BUSY);
  EXPECT_EQ(message(intarsia_session_set_dump(session.get(), nullptr, nullptr)), "none");
}

TEST_F(ApiTest, TwoThreadsInOneSessionNeverMeet) {
  auto session = api::Program::load(write(small_program())).bind();
  std::atomic<int> wrong{0}, done{0};
  const auto work = [&](float number) {
    for (int i = 0; i < 300; ++i) {
      std::vector<float> x(4, number), y(4);
      try {
        session.run({{"x", {x.data(), {4}}}}, {{"y", {y.data(), {4}}}});
        wrong += y != std::vector<float>(4, 2 * number + 1);
        ++done;
      } catch (const api::Error& error) {
        wrong += std::string_view(error.what()).find("the session is in use") == std::string_view::npos;
      }
      intarsia_error_release(intarsia_session_set_trace(session.get(), nullptr, nullptr));
    }
  };
  std::thread one(work, 1.f), two(work, 2.f);
  one.join();
  two.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(done, 0);
}

TEST_F(ApiTest, Profiles) {
  auto session = api::Program::load(write(small_program())).bind();
  std::vector<float> x = {1, 2, 3, 4};
  const api::Profile profile = session.profile({{"x", {x.data(), {4}}}}, 7);
  EXPECT_EQ(profile.runs, 7u);
  ASSERT_EQ(profile.entries.size(), 2u);
  uint64_t sum = 0;
  for (const api::ProfileEntry& entry : profile.entries) {
    sum += entry.time_ns;
    EXPECT_EQ(entry.kind, "region");
    EXPECT_EQ(entry.target, "toy@cpu");
    ASSERT_EQ(entry.nodes.size(), 1u);
    EXPECT_EQ(entry.name, entry.nodes[0].first + ": Add");
    EXPECT_FALSE(entry.shape_known);
  }
  EXPECT_LE(sum, profile.run_ns);
  EXPECT_THROW(session.profile({}), api::Error);
}

TEST_F(ApiTest, ProfilesAreRead) {
  auto session = api::Program::load(write(small_program())).bind();
  std::vector<float> x = {1, 2, 3, 4};
  const api::View view(x.data(), {4});
  const std::string name = "x";
  const intarsia_tensor input = api::detail::tensor(name, view);
  intarsia_profile* profile = nullptr;
  EXPECT_HAS(message(intarsia_session_profile(session.get(), nullptr, &input, 1, 1, nullptr)),
             "null pointer");
  ASSERT_EQ(message(intarsia_session_profile(session.get(), nullptr, &input, 1, 1, &profile)), "none");
  intarsia_profile_info info{};
  EXPECT_HAS(message(intarsia_profile_describe(profile, &info)), "struct_size");
  info.struct_size = sizeof(info);
  ASSERT_EQ(message(intarsia_profile_describe(profile, &info)), "none");
  EXPECT_EQ(info.run_count, 1u);
  EXPECT_EQ(info.entry_count, 2u);
  intarsia_profile_entry entry{sizeof(entry)};
  EXPECT_HAS(message(intarsia_profile_get(profile, 2, &entry)), "no entry 2; the profile has 2");
  ASSERT_EQ(message(intarsia_profile_get(profile, 1, &entry)), "none");
  EXPECT_STREQ(entry.algorithm, "");
  EXPECT_EQ(entry.rank, -1);
  intarsia_profile_release(profile);
  intarsia_profile_release(nullptr);
  EXPECT_HAS(message(intarsia_profile_describe(nullptr, &info)), "null pointer");
}

TEST_F(ApiTest, Describes) {
  intarsia_program* program = nullptr;
  ProgramMaker maker = small_program();
  maker.dynamic_output("list", {}, DType::undefined);
  maker.run("make", {0}, {static_cast<uint32_t>(maker.function().values.size() - 1)});
  ASSERT_EQ(message(intarsia_program_load(write(maker).c_str(), &program)), "none");
  intarsia_program_info info{};
  EXPECT_HAS(message(intarsia_program_describe(program, &info)), "struct_size of the struct to fill in is 0");
  info.struct_size = sizeof(info);
  ASSERT_EQ(message(intarsia_program_describe(program, &info)), "none");
  EXPECT_EQ(info.slot_count, 1u);
  EXPECT_STREQ(info.cpu, "x86-64");
  intarsia_slot slot{sizeof(slot)};
  ASSERT_EQ(message(intarsia_program_slot(program, 0, &slot)), "none");
  EXPECT_STREQ(slot.device, "cpu");
  EXPECT_HAS(message(intarsia_program_slot(program, 1, &slot)), "no slot 1; the program has 1");
  intarsia_argument list{sizeof(list)};
  ASSERT_EQ(message(intarsia_program_output(program, 0, 1, &list)), "none");
  EXPECT_EQ(list.kind, INTARSIA_OPAQUE);
  EXPECT_EQ(list.rank, -1);
  EXPECT_HAS(message(intarsia_program_input(program, 0, 1, &list)), "no input 1; the function has 1");
  intarsia_program_release(program);
  ASSERT_GE(intarsia_device_count(), 2u);
  intarsia_device device{sizeof(device)};
  ASSERT_EQ(message(intarsia_device_info(0, &device)), "none");
  EXPECT_STREQ(device.name, "cpu");
  EXPECT_EQ(intarsia_api_version(), static_cast<uint32_t>(INTARSIA_API_VERSION));
}

TEST_F(ApiTest, StringsCross) {
  ProgramMaker maker;
  maker.run("strings", {maker.input("x", {2}, DType::string)}, {maker.output("y", {2}, DType::string)});
  auto session = api::Program::load(write(maker)).bind();
  intarsia_string words[] = {{"a\0b", 3}, {nullptr, 0}};
  const std::vector<api::Value> values = session.compute({{"x", {words, {2}}}}, {"y"});
  EXPECT_EQ(values[0].string(0), std::string_view("a\0ba\0b", 6));
  EXPECT_EQ(values[0].string(1), "");
}

TEST_F(ApiTest, SequencesCross) {
  ProgramMaker maker;
  const uint32_t list = maker.input("list", {}, DType::undefined);
  const uint32_t inside = maker.dynamic_output("inside", {-1});
  const uint32_t again = maker.dynamic_output("again", {}, DType::undefined);
  maker.run("open", {list}, {inside});
  maker.run("make", {inside}, {again});
  auto session = api::Program::load(write(maker)).bind();
  float numbers[] = {1, 2, 3};
  const int64_t shape[] = {3};
  intarsia_tensor item = named(nullptr);
  item.dtype = INTARSIA_F32;
  item.data = numbers;
  item.rank = 1;
  item.shape = shape;
  intarsia_tensor input = named("list");
  input.kind = INTARSIA_SEQUENCE;
  input.items = &item;
  input.item_count = 1;
  intarsia_tensor outputs[] = {named("again"), named("inside")};
  ASSERT_EQ(message(intarsia_session_run(session.get(), nullptr, &input, 1, outputs, 2)), "none");
  EXPECT_EQ(outputs[0].kind, INTARSIA_SEQUENCE);
  ASSERT_EQ(outputs[0].item_count, 1u);
  EXPECT_EQ(static_cast<float*>(outputs[0].items[0].data)[2], 3);
  EXPECT_EQ(outputs[1].shape[0], 3);
  for (intarsia_tensor& output : outputs) {
    intarsia_tensor_release(&output);
    intarsia_tensor_release(&output);  // a second release does nothing
    EXPECT_EQ(output.data, nullptr);
  }
  input.item_count = 0;
  EXPECT_HAS(message(intarsia_session_run(session.get(), nullptr, &input, 1, outputs, 2)),
             "input 'list': want a sequence of one tensor");
}

TEST_F(ApiTest, BadArgumentsAreErrors) {
  auto session = api::Program::load(write(small_program())).bind();
  const auto run = [&](intarsia_tensor input, size_t count = 1) {
    return message(intarsia_session_run(session.get(), nullptr, &input, count, nullptr, 0));
  };
  float numbers[4] = {};
  const int64_t shape[] = {4};
  intarsia_tensor x = named("x");
  x.dtype = INTARSIA_F32;
  x.data = numbers;
  x.rank = 1;
  x.shape = shape;
  EXPECT_EQ(run(x), "none");
  intarsia_tensor bad = x;
  bad.struct_size = 2;
  EXPECT_HAS(run(bad), "input 0 has struct_size 2");
  bad = x;
  bad.name = nullptr;
  EXPECT_HAS(run(bad), "an input has no name");
  bad = x;
  bad.shape = nullptr;
  EXPECT_HAS(run(bad), "null shape, rank 1");
  bad = x;
  bad.dtype = 77;
  EXPECT_HAS(run(bad), "unknown dtype 77");
  bad = x;
  bad.kind = INTARSIA_SEQUENCE;
  EXPECT_HAS(run(bad), "input 'x' is not a tensor");
  EXPECT_HAS(message(intarsia_session_run(session.get(), nullptr, nullptr, 1, nullptr, 0)),
             "1 inputs at a null pointer");
  EXPECT_HAS(message(intarsia_session_run(nullptr, nullptr, nullptr, 0, nullptr, 0)),
             "session is a null pointer");
  EXPECT_HAS(message(intarsia_program_load(nullptr, nullptr)), "null pointer");
  intarsia_program_release(nullptr);
  intarsia_session_release(nullptr);
  intarsia_tensor_release(nullptr);
}

TEST_F(ApiTest, ALargerStructOfALaterHeaderWorks) {
  auto session = api::Program::load(write(small_program())).bind();
  struct Later {
    intarsia_tensor tensor;
    int64_t more[2];
  };
  float numbers[4] = {1, 2, 3, 4};
  const int64_t shape[] = {4};
  Later x{named("x"), {}};
  x.tensor.struct_size = sizeof(Later);
  x.tensor.dtype = INTARSIA_F32;
  x.tensor.data = numbers;
  x.tensor.rank = 1;
  x.tensor.shape = shape;
  EXPECT_EQ(message(intarsia_session_run(session.get(), nullptr, &x.tensor, 1, nullptr, 0)), "none");
}

TEST_F(ApiTest, Dumps) {
  auto session = api::Program::load(write(small_program())).bind();
  std::string seen;
  const auto dump = [](void* user, const intarsia_tensor* value) {
    *static_cast<std::string*>(user) += value->name;
  };
  ASSERT_EQ(message(intarsia_session_set_dump(session.get(), dump, &seen)), "none");
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  session.run({{"x", {x.data(), {4}}}}, {{"y", {y.data(), {4}}}});
  EXPECT_EQ(seen, "ty");
  ASSERT_EQ(message(intarsia_session_set_dump(session.get(), nullptr, nullptr)), "none");
  session.run({{"x", {x.data(), {4}}}}, {{"y", {y.data(), {4}}}});
  EXPECT_EQ(seen, "ty");
}

}  // namespace
}  // namespace intarsia::test
