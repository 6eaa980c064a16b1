// Loading, binding and running hand-made programs over the toy backend.
//
// Covers: src/runtime/ bind_arguments.cc bind_program.cc load_program.cc run_function.cc
// region_text.cc session.cc
// src/base/ tensor_view.cc
#include "runtime/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

class SessionTest : public testing::Test {
 protected:
  Result<std::shared_ptr<const LoadedProgram>> load(const ProgramMaker& maker) {
    TRY(maker.write(folder_ / "p.so"));
    return load_program(folder_ / "p.so", backends_);
  }

  Result<Session> bind(const ProgramMaker& maker, const BindOptions& options = {}) {
    return Session::create(TRY(bind_program(TRY(load(maker)), options)));
  }

  std::string bind_error(const ProgramMaker& maker, const BindOptions& options = {}) {
    const auto session = bind(maker, options);
    return session ? "none" : session.error().message;
  }

  TestFolder folder_;
  std::vector<RunBackend> backends_ = {toy_backend()};
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(SessionTest, RunsIntoTheCallersBuffer) {
  auto session = bind(small_program());
  ASSERT_TRUE(session) << session.error().message;
  Floats x = {1, 2, 3, 4}, y(4);
  const NamedTensor inputs[] = {floats("x", x)};
  NamedTensor outputs[] = {floats("y", y)};
  for (int i = 0; i < 3; ++i) {
    x[0] = static_cast<float>(i);
    ASSERT_TRUE(session->run("main", inputs, outputs));
    EXPECT_EQ(y, (Floats{2.0f * static_cast<float>(i) + 1, 5, 7, 9}));
  }
}

TEST_F(SessionTest, MakesOutputsWithoutMemory) {
  auto session = bind(small_program());
  ASSERT_TRUE(session);
  Floats x = {1, 2, 3, 4};
  const NamedTensor inputs[] = {floats("x", x)};
  NamedTensor outputs[] = {{"y", {}, nullptr}};
  ASSERT_TRUE(session->run("", inputs, outputs));
  EXPECT_EQ(outputs[0].tensor.shape, (Shape{4}));
  EXPECT_EQ(outputs[0].tensor.as<float>()[3], 9);
  ASSERT_NE(outputs[0].owner, nullptr);
  ASSERT_TRUE(session->run("", inputs, {}));  // not requested: computed and dropped
}

TEST_F(SessionTest, UnalignedBuffers) {
  auto session = bind(small_program());
  ASSERT_TRUE(session);
  std::vector<std::byte> raw_x(17), raw_y(19);
  const Floats numbers = {1, 2, 3, 4};
  std::memcpy(raw_x.data() + 1, numbers.data(), 16);
  const NamedTensor inputs[] = {{"x", {raw_x.data() + 1, DType::f32, {4}}, nullptr}};
  NamedTensor outputs[] = {{"y", {raw_y.data() + 3, DType::f32, {4}}, nullptr}};
  ASSERT_TRUE(session->run("", inputs, outputs));
  Floats y(4);
  std::memcpy(y.data(), raw_y.data() + 3, 16);
  EXPECT_EQ(y, (Floats{3, 5, 7, 9}));
}

TEST_F(SessionTest, DynamicOutput) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {-1});
  const uint32_t kept = maker.dynamic_output("kept", {-1});
  maker.run("positive", {x}, {kept});
  auto session = bind(maker);
  ASSERT_TRUE(session) << session.error().message;
  Floats many = {1, -2, 3}, none = {-1};
  NamedTensor outputs[] = {{"kept", {}, nullptr}};
  ASSERT_TRUE(session->run("", std::vector{floats("x", many)}, outputs));
  EXPECT_EQ(outputs[0].tensor.shape, (Shape{2}));
  EXPECT_EQ(outputs[0].tensor.as<float>()[1], 3);
  NamedTensor empty[] = {{"kept", {}, nullptr}};
  ASSERT_TRUE(session->run("", std::vector{floats("x", none)}, empty));
  EXPECT_EQ(empty[0].tensor.shape, (Shape{0}));
  EXPECT_EQ(outputs[0].tensor.as<float>()[0], 1);  // the first run's output still belongs to the caller
  Floats buffer(2), small(1);
  NamedTensor given[] = {floats("kept", buffer)};
  ASSERT_TRUE(session->run("", std::vector{floats("x", many)}, given));
  EXPECT_EQ(buffer, (Floats{1, 3}));
  NamedTensor wrong[] = {floats("kept", small)};
  EXPECT_HAS(session->run("", std::vector{floats("x", many)}, wrong).error().message,
             "output 'kept' has shape 2 in this run, its buffer 1");
}

TEST_F(SessionTest, DynamicValuesPassBetweenRegions) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {-1});
  const uint32_t kept = maker.value("kept", fbs::Storage::dynamic, {-1});
  const uint32_t list = maker.value("list", fbs::Storage::dynamic, {}, 0, DType::undefined);
  const uint32_t out = maker.dynamic_output("out", {-1});
  maker.run("positive", {x}, {kept});
  maker.run("make", {kept}, {list});
  maker.run("open", {list}, {out});
  auto session = bind(maker);
  ASSERT_TRUE(session) << session.error().message;
  Floats numbers = {-1, 7, 8};
  NamedTensor outputs[] = {{"out", {}, nullptr}};
  for (int i = 0; i < 2; ++i) {
    outputs[0] = {"out", {}, nullptr};
    ASSERT_TRUE(session->run("", std::vector{floats("x", numbers)}, outputs));
    EXPECT_EQ(outputs[0].tensor.shape, (Shape{2}));
  }
}

TEST_F(SessionTest, PassThroughAndConstantOutputs) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {2});
  const uint32_t same = maker.output("same", {2});
  const uint32_t fixed = maker.output("fixed", {2});
  const uint32_t dynamic = maker.dynamic_output("dynamic", {-1});
  const uint32_t constant = maker.value("c", fbs::Storage::constant, {2});
  maker.constant({5, 6});
  maker.copy(x, same);
  maker.copy(constant, fixed);
  maker.copy(x, dynamic);
  auto session = bind(maker);
  ASSERT_TRUE(session) << session.error().message;
  Floats in = {1, 2}, a(2), b(2);
  NamedTensor outputs[] = {floats("fixed", b), floats("same", a), {"dynamic", {}, nullptr}};
  ASSERT_TRUE(session->run("", std::vector{floats("x", in)}, outputs));
  EXPECT_EQ(a, in);
  EXPECT_EQ(b, (Floats{5, 6}));
  EXPECT_EQ(outputs[2].tensor.as<float>()[1], 2);
}

TEST_F(SessionTest, Strings) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {2}, DType::string);
  const uint32_t y = maker.output("y", {2}, DType::string);
  const uint32_t z = maker.dynamic_output("z", {2}, DType::string);
  maker.run("strings", {x}, {y});
  maker.copy(x, z);
  auto session = bind(maker);
  ASSERT_TRUE(session) << session.error().message;
  std::string words[] = {"ab", ""};
  NamedTensor outputs[] = {{"y", {}, nullptr}, {"z", {}, nullptr}};
  ASSERT_TRUE(session->run("", std::vector{NamedTensor{"x", {words, DType::string, {2}}, nullptr}}, outputs));
  EXPECT_EQ(outputs[0].tensor.as<std::string>()[0], "abab");
  EXPECT_EQ(outputs[1].tensor.as<std::string>()[0], "ab");
}

// Makes a program where x goes to sim:0 once for two readers there, from there to sim:1, and back:
// host->device, device->device, device->host, and constants in each memory.
ProgramMaker two_devices() {
  ProgramMaker maker;
  const uint32_t a = maker.slot("a", "sim", "sim:0?latency_us=0&gbps=100");
  const uint32_t b = maker.slot("b", "sim", "sim:1?latency_us=0&gbps=100");
  const uint32_t one = maker.constant({1, 1});
  const uint32_t x = maker.input("x", {2});
  const uint32_t y = maker.output("y", {2});
  const uint32_t x_a = maker.arena("x@a", {2}, a);
  const uint32_t p_a = maker.arena("p@a", {2}, a);
  const uint32_t q_a = maker.arena("q@a", {2}, a);
  const uint32_t q_b = maker.arena("q@b", {2}, b);
  const uint32_t r_b = maker.arena("r@b", {2}, b);
  maker.copy(x, x_a);
  maker.run("add", {x_a}, {p_a}, a, {one});
  maker.run("add", {x_a, p_a}, {q_a}, a);
  maker.copy(q_a, q_b);
  maker.run("add", {q_b}, {r_b}, b, {one});
  maker.copy(r_b, y);
  return maker;
}

TEST_F(SessionTest, TwoDevicesOfOneKind) {
  auto session = bind(two_devices());
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->executor(1).space()->copy_counts(), (CopyCounts{1, 8}));  // the constant
  Floats x = {1, 2}, y(2);
  NamedTensor outputs[] = {floats("y", y)};
  for (uint64_t run = 1; run <= 3; ++run) {
    ASSERT_TRUE(session->run("", std::vector{floats("x", x)}, outputs));
    EXPECT_EQ(y, (Floats{4, 6}));
    EXPECT_EQ(session->executor(1).space()->copy_counts(), (CopyCounts{1 + run, 8 + 8 * run, run, 8 * run}));
    EXPECT_EQ(session->executor(2).space()->copy_counts(), (CopyCounts{1 + run, 8 + 8 * run, run, 8 * run}));
  }
  // Constants are shared by a repeated binding: nothing is uploaded again. Another device is another memory.
  const auto again = bind_program(session->program().program, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(session->executor(1).space()->copy_counts().uploads, 4u);
  EXPECT_EQ(again->get(), &session->program());
  auto other = bind(two_devices(), {{{"a", "sim:7"}}});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->executor(1).name(), "sim:7");
  ASSERT_TRUE(other->run("", std::vector{floats("x", x)}, outputs));
  EXPECT_EQ(y, (Floats{4, 6}));
}

TEST_F(SessionTest, DynamicValuesCrossDevices) {
  ProgramMaker maker;
  const uint32_t a = maker.slot("a", "sim", "sim:0");
  const uint32_t b = maker.slot("b", "sim", "sim:1");
  const uint32_t x = maker.input("x", {3});
  const uint32_t x_a = maker.arena("x@a", {3}, a);
  const uint32_t kept_a = maker.value("kept@a", fbs::Storage::dynamic, {-1}, a);
  const uint32_t kept_b = maker.value("kept@b", fbs::Storage::dynamic, {-1}, b);
  const uint32_t out = maker.dynamic_output("out", {-1});
  maker.copy(x, x_a);
  maker.run("positive", {x_a}, {kept_a}, a);
  maker.copy(kept_a, kept_b);
  maker.copy(kept_b, out);
  auto session = bind(maker);
  ASSERT_TRUE(session) << session.error().message;
  Floats numbers = {1, -2, 3};
  NamedTensor outputs[] = {{"out", {}, nullptr}};
  ASSERT_TRUE(session->run("", std::vector{floats("x", numbers)}, outputs));
  EXPECT_EQ(outputs[0].tensor.shape, (Shape{2}));
  EXPECT_EQ(outputs[0].tensor.as<float>()[1], 3);
}

TEST_F(SessionTest, ArgumentErrorsNameTheArgument) {
  auto session = bind(small_program());
  ASSERT_TRUE(session);
  Floats x = {1, 2, 3, 4}, five(5), y(4);
  const auto error = [&](std::vector<NamedTensor> inputs, std::vector<NamedTensor> outputs = {}) {
    const Status status = session->run("", inputs, outputs);
    return status ? std::string("none") : status.error().message;
  };
  EXPECT_HAS(error({}), "missing input x");
  EXPECT_HAS(error({floats("z", x)}), "no input 'z'; the function has: x");
  EXPECT_HAS(error({floats("x", x), floats("x", x)}), "input 'x' is given twice");
  EXPECT_HAS(error({floats("x", five)}), "input 'x' has shape 5, want 4");
  EXPECT_HAS(error({floats("x", x, {2, 2})}), "input 'x' has rank 2 (shape 2x2), want rank 1 (shape 4)");
  EXPECT_HAS(error({{"x", {x.data(), DType::i32, {4}}, nullptr}}), "input 'x' has dtype i32, want f32");
  EXPECT_HAS(error({{"x", {nullptr, DType::f32, {4}}, nullptr}}), "input 'x' has no data");
  EXPECT_HAS(error({floats("x", x)}, {floats("w", y)}), "no output 'w'; the function has: y");
  EXPECT_HAS(error({floats("x", x)}, {floats("y", y), floats("y", y)}), "output 'y' is given twice");
  EXPECT_HAS(error({floats("x", x)}, {floats("y", five)}), "output 'y' has shape 5, want 4");
  EXPECT_HAS(error({floats("x", x)}, {floats("y", x)}), "output 'y' overlaps an input's memory");
  EXPECT_HAS(session->run("nope", {}, {}).error().message, "no function 'nope'; the program has: main");
  EXPECT_EQ(error({floats("x", x)}, {floats("y", y)}), "none");
}

TEST_F(SessionTest, SizesThatOnlyTheRunKnows) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {-1, 2});
  const uint32_t y = maker.dynamic_output("y", {-1, 2});
  maker.copy(x, y);
  auto session = bind(maker);
  ASSERT_TRUE(session);
  Floats numbers = {1, 2, 3, 4};
  for (int64_t rows : {2, 1, 0}) {
    NamedTensor outputs[] = {{"y", {}, nullptr}};
    ASSERT_TRUE(session->run("", std::vector{floats("x", numbers, {rows, 2})}, outputs));
    EXPECT_EQ(outputs[0].tensor.shape, (Shape{rows, 2}));
  }
  EXPECT_HAS(session->run("", std::vector{floats("x", numbers, {1, 4})}, {}).error().message,
             "input 'x' has shape 1x4, want ?x2");
}

TEST_F(SessionTest, BindErrors) {
  EXPECT_HAS(bind_error(two_devices(), {{{"gpu", "sim:0"}}}),
             "no slot 'gpu' to bind; the program has: cpu, a, b");
  EXPECT_HAS(bind_error(two_devices(), {{{"a", "sim:0"}, {"a", "sim:1"}}}), "slot 'a' is bound twice");
  EXPECT_HAS(bind_error(two_devices(), {{{"a", "cpu"}}}),
             "slot 'a' was compiled for a device of kind sim, but 'cpu' is a cpu");
  EXPECT_HAS(bind_error(two_devices(), {{{"a", "tpu:0"}}}),
             "slot 'a': no device 'tpu:0'; there are: cpu, cpu:CORES (as in cpu:0-1+4), opencl:N");
  EXPECT_HAS(bind_error(small_program(), {{}, -1}), "-1 threads");
  ProgramMaker maker = small_program();
  maker.blobs[1] = "refuse";
  EXPECT_HAS(bind_error(maker), "region 1 (toy@cpu: sum (Add)): no such framework");
}

TEST_F(SessionTest, MissingBackendNamesTheOperators) {
  ProgramMaker maker = small_program();
  maker.program.regions[1]->backend = "tensorflow";
  maker.note("odd", "Einsum", 1);
  const std::string error = bind_error(maker);
  EXPECT_HAS(error,
             "it needs the backend 'tensorflow' to run Add, Einsum, which this Intarsia was built without");
  ProgramMaker requires_more = small_program();
  requires_more.program.requirements = {"openvino"};
  EXPECT_HAS(bind_error(requires_more), "it needs the backend 'openvino'");
}

TEST_F(SessionTest, AnAlternativeRunsWhereABackendIsMissing) {
  ProgramMaker maker = small_program();
  maker.alternative();
  const auto chosen = bind(maker);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->program().functions[0].alternative, 0u);
  EXPECT_EQ(chosen->program().executables[2], nullptr);
  maker.program.regions[1]->backend = "tensorflow";
  auto session = bind(maker);
  ASSERT_TRUE(session) << session.error().message;
  const BoundFunction& bound = session->program().functions[0];
  EXPECT_EQ(bound.alternative, 1u);
  EXPECT_EQ(bound.targets, "toy@cpu");
  EXPECT_HAS(bound.reason, "it needs the backend 'tensorflow'");
  Floats x = {1, 2, 3, 4}, y(4);
  const NamedTensor inputs[] = {floats("x", x)};
  NamedTensor outputs[] = {floats("y", y)};
  ASSERT_TRUE(session->run("", inputs, outputs));
  EXPECT_EQ(y, (Floats{3, 5, 7, 9}));
}

TEST_F(SessionTest, AnAlternativeRunsWhereADeviceIsMissing) {
  ProgramMaker maker = small_program();
  maker.alternative();
  const uint32_t slot = maker.slot("far", "cpu", "cpu:1023");
  for (uint32_t region : {0, 1}) maker.program.regions[region]->slot = slot;
  const auto session = bind(maker);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->program().functions[0].alternative, 1u);
  EXPECT_HAS(session->program().functions[0].reason, "slot 'far': device 'cpu:1023'");
  EXPECT_HAS(bind_error(maker, {{{"far", "cpu:1022"}}}), "slot 'far': device 'cpu:1022'");
  EXPECT_EQ(bind_error(maker, {{{"far", "cpu"}}}), "none");
}

TEST_F(SessionTest, NoAlternativeHidesDamage) {
  ProgramMaker maker = small_program();
  maker.alternative();
  maker.blobs[1] = "refuse";
  EXPECT_HAS(bind_error(maker), "region 1 (toy@cpu: sum (Add)): no such framework");
  maker.program.regions[0]->backend = "tensorflow";
  maker.program.regions[3]->backend = "openvino";
  EXPECT_HAS(bind_error(maker), "it needs the backend 'tensorflow'")
      << "the first choice's is the one to get";
}

TEST_F(SessionTest, WrongMachine) {
  ProgramMaker maker = small_program();
  maker.program.cpu_features = {"quantum"};
  EXPECT_HAS(bind_error(maker), "p.so': it needs the CPU feature 'quantum'");
}

TEST_F(SessionTest, StepErrorsNameRegionAndNodes) {
  ProgramMaker maker = small_program();
  maker.blobs[1] = "fail";
  auto session = bind(maker);
  ASSERT_TRUE(session);
  Floats x = {1, 2, 3, 4};
  EXPECT_EQ(session->run("", std::vector{floats("x", x)}, {}).error().message,
            "region 1 (toy@cpu: sum (Add)): on purpose");
  ProgramMaker wrong;
  wrong.run("wrong", {wrong.input("x", {4})}, {wrong.dynamic_output("y", {-1})});
  auto other = bind(wrong);
  ASSERT_TRUE(other);
  EXPECT_HAS(other->run("", std::vector{floats("x", x)}, {}).error().message,
             "it produced i64 1 for 'y', which is declared differently");
}

TEST_F(SessionTest, DumpsEveryBoundaryValue) {
  auto session = bind(two_devices());
  ASSERT_TRUE(session);
  std::vector<std::string> seen;
  session->set_dump([&](const std::string& name, const TensorView& tensor) {
    seen.push_back(fmt::format("{}={}", name, tensor.as<float>()[0]));
  });
  Floats x = {1, 2};
  ASSERT_TRUE(session->run("", std::vector{floats("x", x)}, {}));
  EXPECT_EQ(seen, (std::vector<std::string>{"x@a=1", "p@a=2", "q@a=3", "q@b=3", "r@b=4", "y=4"}));
}

TEST_F(SessionTest, AReplacedFileIsTheNewProgramAndTheOldGoesOn) {
  Floats x = {1, 2, 3, 4}, y(4);
  NamedTensor outputs[] = {floats("y", y)};
  auto old = bind(small_program());
  ASSERT_TRUE(old);
  ProgramMaker changed = small_program();
  changed.constants[0].as<float>()[0] = 100;
  auto fresh = bind(changed);
  ASSERT_TRUE(fresh);
  ASSERT_TRUE(fresh->run("", std::vector{floats("x", x)}, outputs));
  EXPECT_EQ(y[0], 102);
  ASSERT_TRUE(old->run("", std::vector{floats("x", x)}, outputs));
  EXPECT_EQ(y[0], 3);
}

TEST_F(SessionTest, AFileChangedInPlaceIsAnErrorAtTheNextBind) {
  const auto program = load(small_program());
  ASSERT_TRUE(program);
  ASSERT_TRUE(bind_program(*program, {}));
  const std::string bytes = read_bytes(folder_ / "p.so");
  const std::string wanted =
      fmt::format("p.so': the file was changed in place after it was loaded (it had {} bytes, now it has {})",
                  bytes.size(), 7);
  write_bytes(folder_ / "p.so", "changed");
  EXPECT_HAS(bind_program(*program, {}).error().message, wanted);
  EXPECT_HAS(verify_constants((*program)->file()).error().message, wanted);
  write_bytes(folder_ / "p.so", bytes);  // equal size, later time
  std::filesystem::last_write_time(folder_ / "p.so", std::filesystem::file_time_type::clock::now());
  EXPECT_HAS(bind_program(*program, {}).error().message, "changed in place");
}

TEST_F(SessionTest, ThreadsShareOneProgram) {
  const auto program = load(two_devices());
  ASSERT_TRUE(program);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto bound = bind_program(*program, {});
      auto session = bound ? Session::create(*bound) : Result<Session>(tl::unexpected(bound.error()));
      if (!session) return;
      for (int run = 0; run < 50; ++run) {
        const float number = static_cast<float>(i * 1000 + run);
        Floats x = {number, 0}, y(2);
        NamedTensor outputs[] = {floats("y", y)};
        right += session->run("", std::vector{floats("x", x)}, outputs) && y[0] == 2 * number + 2;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 50);
}

TEST_F(SessionTest, SeveralFunctions) {
  ProgramMaker maker = small_program();
  auto second = std::make_unique<fbs::FunctionT>(maker.function());
  second->name = "again";
  maker.program.functions.push_back(std::move(second));
  auto session = bind(maker);
  ASSERT_TRUE(session) << session.error().message;
  Floats x = {1, 2, 3, 4}, y(4);
  NamedTensor outputs[] = {floats("y", y)};
  EXPECT_HAS(session->run("", std::vector{floats("x", x)}, outputs).error().message, "no function ''");
  for (const char* name : {"main", "again"}) {
    y[0] = 0;
    ASSERT_TRUE(session->run(name, std::vector{floats("x", x)}, outputs));
    EXPECT_EQ(y[0], 3);
  }
}

}  // namespace
}  // namespace intarsia::test
