// Region of a plug-in, from a graph to a run on its device: what it computes, what each failing call reports,
// and the order in which things are released.
//
// Covers: backends/plugin/ compiled_sink.cc declared_region.cc load.cc plugin_blob.cc plugin_buffers.cc
// target.cc
// src/device/plugin/ device.cc space.cc
// src/device/ sleep_until.cc
// src/plugin/ plugin_call.cc
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/plugin/load.h"
#include "backends/plugin/plugin_blob.h"
#include "backends/plugin/target.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "device/by_name/devices.h"
#include "device/plugin/device.h"
#include "graph/parse_graph.h"
#include "plugin/loaded_plugins.h"
#include "runtime/session.h"
#include "tests/support/runtime_support.h"
#include "tests/support/test_plugins.h"

namespace intarsia::test {
namespace {

/// Makes the plug-in fail in this way while the object lives (tests/support/test_plugin.c).
class Fault {
 public:
  explicit Fault(const char* fault) { setenv("TEST_PLUGIN_FAULT", fault, 1); }
  ~Fault() { unsetenv("TEST_PLUGIN_FAULT"); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};

Graph relu(const std::string& shape = "2,3") {
  return parse_graph("graph \"\" opsets {\"\": 18}\ninput %x : f32[" + shape + "]\n%y : f32[" + shape +
                     "] = Relu(%x) \"n\"\noutput %y\n")
      .value();
}

RunBackend backend_of(const std::string& name) {
  for (RunBackend& backend : plugin_run_backends())
    if (backend.name == name) return backend;
  return {};
}

Result<CompiledRegion> compile_relu(const std::string& name) {
  return make_plugin_target(find_plugin(name))->compile(relu(), {name, name + ":0"}, {});
}

Result<Memory> upload(MemorySpace& space, const void* data, size_t bytes) {
  Memory memory = TRY(space.allocate(bytes));
  TRY(space.upload({memory.handle(), 0}, data, bytes));
  return memory;
}

/// Does everything that a session does with a region; returns the result of a run, or the first error.
/// `is_open`: the output's size is unknown until the run.
Result<Floats> compile_and_run(const std::string& name, Floats x, bool is_open = false) {
  const CompiledRegion compiled = TRY(compile_relu(name));
  const std::shared_ptr<Executor> executor = TRY(make_device(name + ":0"));
  MemorySpace& space = *executor->space();
  const Tensor& constant = compiled.constants.at(0);
  const Memory constants = TRY(upload(space, constant.data(), constant.bytes()));
  const Memory in = TRY(upload(space, x.data(), x.size() * sizeof(float)));
  const Memory between = TRY(space.allocate(in.bytes())), out = TRY(space.allocate(in.bytes()));
  const Memory workspace = TRY(space.allocate(compiled.workspace_bytes));
  const ConstTensorView constant_view(nullptr, constant.dtype(), constant.shape());
  const Place constant_place{constants.handle(), 0};
  LoadContext context;
  context.blob = as_bytes(std::string_view(compiled.blob));
  context.constants = {&constant_view, 1};
  context.constant_places = {&constant_place, 1};
  context.workspace_bytes = compiled.workspace_bytes;
  context.executor = executor->name();
  const std::unique_ptr<Executable> executable = TRY(backend_of(name).load(context));
  const Shape shape{2, 3};
  const Input input{ConstTensorView(nullptr, DType::f32, shape), nullptr, {in.handle(), 0}};
  Output output{TensorView{nullptr, DType::f32, shape}, nullptr, false, {between.handle(), 0}};
  if (is_open) output = {{}, nullptr, true, {}};
  RunContext run;
  run.inputs = {&input, 1};
  run.outputs = {&output, 1};
  run.workspace_place = {workspace.handle(), 0};
  TRY(executor->run(*executable, run));
  if (output.tensor.shape != shape) return fail("the output is {}", print_shape(output.tensor.shape));
  TRY(space.move({out.handle(), 0}, output.place, out.bytes()));
  TRY(space.download(x.data(), {out.handle(), 0}, out.bytes()));
  return x;
}

class PluginRegion : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* variant : {"good", "older", "newer", "runs_only", "version_2"}) {
      const Status loaded = load_plugin(path_of(variant));
      ASSERT_TRUE(loaded) << loaded.error().message;
    }
  }
};

TEST_F(PluginRegion, RunsWithEveryHeader) {
  const Floats x{1, 2, 3, 4, 5, 6};
  for (const char* name : {"test_npu", "older_npu", "newer_npu"}) {
    const auto y = compile_and_run(name, x);
    ASSERT_TRUE(y) << name << ": " << y.error().message;
    EXPECT_EQ(*y, x) << name;
  }
}

TEST_F(PluginRegion, OutputsOfOpenSizes) {
  const Floats x{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(compile_and_run("test_npu", x, true), x);
  const auto older = compile_and_run("older_npu", x, true);
  ASSERT_FALSE(older);
  EXPECT_NE(older.error().message.find("the size of output 0 is open, which needs shapes()"),
            std::string::npos);
}

TEST_F(PluginRegion, CopiesBetweenItsDevices) {
  const auto one = make_device("test_npu:0"), two = make_device("test_npu:1"),
             older = make_device("older_npu:0");
  ASSERT_TRUE(one && two && older);
  MemorySpace &from = *(*one)->space(), &to = *(*two)->space();
  EXPECT_FALSE(needs_staging(from, to));
  EXPECT_TRUE(needs_staging(from, *(*older)->space()));
  EXPECT_FALSE(to.can_copy_from(*host_memory_space()));
  const Floats x{1, 2, 3};
  const Memory source = *upload(from, x.data(), 12), target = *to.allocate(12);
  ASSERT_TRUE(copy_between(from, {source.handle(), 4}, to, {target.handle(), 0}, 8, nullptr));
  Floats y(3);
  ASSERT_TRUE(to.download(y.data(), {target.handle(), 0}, 12));
  EXPECT_EQ(y, (Floats{2, 3, 0}));
  EXPECT_EQ(to.copy_counts().direct_bytes, 8u);
  const Fault at("copy_from error");
  const Status failed = copy_between(from, {source.handle(), 4}, to, {target.handle(), 0}, 8, nullptr);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "plug-in 'test_npu' 1.2: copy_from on test_npu:1: a declared fault");
}

TEST_F(PluginRegion, StagingMemoryIsThePlugins) {
  const auto device = make_device("test_npu:0"), older = make_device("older_npu:0");
  ASSERT_TRUE(device && older);
  EXPECT_NE((*device)->space()->allocate_staging(8).value(), nullptr);
  EXPECT_NE((*older)->space()->allocate_staging(8).value(), nullptr);
  const Fault at("allocate_staging null");
  EXPECT_NE((*device)->space()->allocate_staging(8).error().message.find("it gave no memory"),
            std::string::npos);
}

TEST_F(PluginRegion, EveryCallThatGoesWrongSaysWhich) {
  const Floats x{1, 2, 3, 4, 5, 6};
  const std::string who = "plug-in 'test_npu' 1.2: ";
  const struct {
    const char* fault;
    std::string says;
  } cases[] = {{"compile error", who + "compile for test_npu:0: a declared fault"},
               {"compile null", who + "compile for test_npu:0: it set no blob"},
               {"cost error", who + "cost for test_npu:0: a declared fault"},
               {"open_device error", "device 'test_npu:0': " + who + "open_device: a declared fault"},
               {"open_device null", "device 'test_npu:0': " + who + "open_device: it gave no device"},
               {"allocate error", who + "allocate on test_npu:0: a declared fault"},
               {"allocate silent", who + "allocate on test_npu:0: it failed with status 3 and no message"},
               {"allocate null", who + "allocate on test_npu:0: it gave no memory"},
               {"upload error", who + "upload on test_npu:0: a declared fault"},
               {"load error", who + "load on test_npu:0: a declared fault"},
               {"load null", who + "load on test_npu:0: it gave no executable"},
               {"shapes error", who + "shapes on test_npu:0: a declared fault"},
               {"shapes wrong", who + "shapes on test_npu:0: output 0 has f32 3x3, planned as f32 2x3"},
               {"shapes null", who + "shapes on test_npu:0: output 0 has dtype 0, which is none of numbers"},
               {"run error", who + "run on test_npu:0: a declared fault"},
               {"run silent", who + "run on test_npu:0: it failed with status 1 and no message"},
               {"move error", who + "move on test_npu:0: a declared fault"},
               {"download error", who + "download on test_npu:0: a declared fault"},
               {"wait error", " on test_npu:0: a declared fault"}};
  for (const auto& [fault, says] : cases) {
    const auto failed = [&, &fault = fault] {
      const Fault at(fault);
      return compile_and_run("test_npu", x);
    }();
    ASSERT_FALSE(failed) << fault;
    EXPECT_NE(failed.error().message.find(says), std::string::npos)
        << fault << ": " << failed.error().message;
    const auto again = compile_and_run("test_npu", x);
    ASSERT_TRUE(again) << "after " << fault << ": " << again.error().message;
    EXPECT_EQ(*again, x) << fault;
  }
  const Fault at("allocate error");
  EXPECT_EQ(compile_and_run("test_npu", x).error().kind, ErrorKind::out_of_memory);
}

TEST_F(PluginRegion, GivesBackExecutablesThenMemoryThenTheDevice) {
  void* library = dlopen(path_of("good").c_str(), RTLD_NOW);
  char* log = as_function<char* (*)()>(dlsym(library, "test_plugin_log"))();
  std::memset(log, 0, std::strlen(log));
  ASSERT_TRUE(compile_and_run("test_npu", {1, 2, 3, 4, 5, 6}));
  EXPECT_STREQ(log, "ufffffc");
  dlclose(library);
}

TEST_F(PluginRegion, NodesThatAreNotOffered) {
  const auto target = make_plugin_target(find_plugin("test_npu"));
  const TargetDevice device{"test_npu", "test_npu:0"};
  EXPECT_TRUE(drives(*target, "test_npu"));
  EXPECT_FALSE(drives(*target, "cpu"));
  EXPECT_TRUE(target->info().is_plugin);
  EXPECT_TRUE(target->supports(relu(), NodeId{0}, device).yes);
  EXPECT_EQ(target->supports(relu("batch,3"), NodeId{0}, device).because,
            "'x' is f32[batch,3], which has open sizes");
  Graph other = relu();
  other.nodes[0].op = "Neg";
  EXPECT_EQ(target->supports(other, NodeId{0}, device).because, "no Neg here");
  other.nodes[0].attributes.set("body", EncodedAttribute{"?"});
  EXPECT_EQ(target->supports(other, NodeId{0}, device).because, "it has a subgraph");
  other = relu();
  other.value(other.inputs[0]).type.dtype = DType::string;
  EXPECT_EQ(target->supports(other, NodeId{0}, device).because, "'x' has strings");
  const Fault at("supports silent");
  other = relu();
  other.nodes[0].op = "Neg";
  EXPECT_EQ(target->supports(other, NodeId{0}, device).because, "it gave no reason");
}

TEST_F(PluginRegion, DevicesThatAreNotThere) {
  EXPECT_NE(make_device("test_npu:2").error().message.find("has 2 devices here, numbered from 0"),
            std::string::npos);
  EXPECT_NE(make_device("test_npu:x").error().message.find("want test_npu:N"), std::string::npos);
  EXPECT_NE(make_device("absent_npu:0").error().message.find("those of plug-ins"), std::string::npos);
  std::vector<std::string> names;
  for (const DeviceInfo& device : list_plugin_devices()) names.push_back(device.name);
  EXPECT_NE(std::ranges::find(names, "test_npu:1"), names.end());
  const auto device = make_device("test_npu:1");
  ASSERT_TRUE(device);
  EXPECT_EQ((*device)->kind(), "test_npu");
  EXPECT_EQ((*device)->space()->address({}), nullptr);
}

TEST_F(PluginRegion, GroupsAreThePlugins) {
  const Graph graph = parse_graph(
                          "graph \"\" opsets {\"\": 18}\ninput %x : f32[2]\n"
                          "%a : f32[2] = Relu(%x) \"a\"\n%b : f32[2] = Exp(%a) \"b\"\n"
                          "%y : f32[2] = Relu(%b) \"c\"\noutput %y\n")
                          .value();
  const auto groups_of = [&](const std::string& name) {
    return make_plugin_target(find_plugin(name))->groups(graph, {name, name + ":0"});
  };
  EXPECT_EQ(*groups_of("test_npu"), (std::vector<size_t>{7, no_group, 7}));
  EXPECT_TRUE(groups_of("older_npu")->empty());
  const Fault at("groups error");
  EXPECT_EQ(groups_of("test_npu").error().message,
            "plug-in 'test_npu' 1.2: groups for test_npu:0: a declared fault");
}

TEST_F(PluginRegion, ACompileThatTakesLongShowsItsProgressAndEndsWhenItIsCancelled) {
  const Graph graph = parse_graph(
                          "graph \"\" opsets {\"\": 18}\ninput %x : f32[2]\n"
                          "%y : f32[2] = Relu(%x) \"n\"\noutput %y\n")
                          .value();
  double shown = 0;
  int asked = 0;
  CompileOptions options;
  options.progress = Progress([&](const std::string&, double part) { shown = part; });
  options.is_cancelled = [&] { return ++asked > 20; };
  setenv("TEST_PLUGIN_WAITS", "1", 1);
  const auto compiled =
      make_plugin_target(find_plugin("test_npu"))->compile(graph, {"test_npu", "test_npu:0"}, options);
  unsetenv("TEST_PLUGIN_WAITS");
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().kind, ErrorKind::cancelled);
  EXPECT_GT(shown, 0.1);
  EXPECT_LT(shown, 0.3);
}

TEST_F(PluginRegion, WhatStandsInForADeviceTakesDeclaredTimes) {
  EXPECT_EQ(timed_device("cpu"), "cpu");
  EXPECT_EQ(timed_device("test_npu:1"), "test_npu:1") << "it is here";
  EXPECT_EQ(timed_device("older_npu:7"), "older_npu:7") << "its plug-in declares nothing";
  ASSERT_EQ(timed_device("test_npu:7"), "test_npu:7?declared");
  setenv("TEST_PLUGIN_COST", "20000000", 1);
  const CompiledRegion compiled = *compile_relu("test_npu");
  setenv("TEST_PLUGIN_COST", "-1", 1);
  EXPECT_EQ(compile_relu("test_npu").error().message,
            "plug-in 'test_npu' 1.2: cost for test_npu:0: 'n' takes -1 ns; want 0 to 3600000000000");
  unsetenv("TEST_PLUGIN_COST");

  const auto executor = make_device("test_npu:7?declared");
  ASSERT_TRUE(executor) << executor.error().message;
  EXPECT_EQ((*executor)->kind(), "test_npu");
  const ConstTensorView constant(nullptr, DType::f32, {2});
  const Place nowhere;
  LoadContext context;
  context.blob = as_bytes(std::string_view(compiled.blob));
  context.constants = {&constant, 1};
  context.constant_places = {&nowhere, 1};
  context.executor = (*executor)->name();
  const auto region = backend_of("test_npu").load(context);
  ASSERT_TRUE(region) << region.error().message;
  std::string name;
  int64_t took = 0;
  const TraceHook trace = [&](std::string_view what, int64_t begin, int64_t end) {
    name = what;
    took = end - begin;
  };
  const int64_t begin = clock_nanoseconds();
  ASSERT_TRUE((*executor)->run(**region, {.trace = &trace}));
  EXPECT_GE(clock_nanoseconds() - begin, 20'000'000);
  EXPECT_EQ(name, "n: Relu");
  EXPECT_EQ(took, 20'000'000);
}

TEST(PluginBlob, ReadsWhatItWrote) {
  const plugin::BlobHeader header{"toy_npu", "1.0", 1, 2, 3, {{"a: Conv", 5}, {"", 0}}};
  const std::string blob = plugin::encode_blob(header, "bytes");
  const auto read = plugin::decode_blob(as_bytes(blob));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->header, header);
  EXPECT_EQ(as_text(read->bytes), "bytes");
  EXPECT_EQ((blob.size() - read->bytes.size()) % 64, 0u);
}

TEST(PluginBlob, RefusesOtherBytes) {
  const std::string blob = plugin::encode_blob({"toy_npu", "1.0", 1, 2, 3}, "bytes");
  for (size_t size = 0; size < blob.size() - 5; ++size)
    EXPECT_FALSE(plugin::decode_blob(as_bytes(std::string_view(blob).substr(0, size)))) << size;
  EXPECT_FALSE(plugin::decode_blob(as_bytes("intarsia plug-in 1\n" + blob.substr(19))));
  std::string damaged = blob;
  damaged[blob.find("\n1\n") + 1] = '-';
  EXPECT_FALSE(plugin::decode_blob(as_bytes(damaged)));
}

/// Makes the program y = the plug-in's copy of x.
ProgramMaker plugin_program(const std::string& name, const std::string& blob, const Shape& shape = {2, 3},
                            const std::vector<Floats>& constants = {{1, 2}}) {
  ProgramMaker maker;
  const uint32_t npu = maker.slot("npu", name, name + ":0");
  const uint32_t x = maker.input("x", shape), y = maker.output("y", shape);
  const uint32_t there = maker.arena("x.npu", shape, npu), made = maker.arena("y.npu", shape, npu);
  std::vector<uint32_t> numbers;
  for (const Floats& constant : constants) numbers.push_back(maker.constant(constant));
  maker.copy(x, there);
  maker.run(blob, {there}, {made}, npu, numbers);
  maker.program.regions[0]->backend = name;
  maker.program.regions[0]->workspace_bytes = 128;
  maker.function().steps.back()->workspace_offset = maker.function().arena_bytes[1];
  maker.function().arena_bytes[1] += 128;
  maker.copy(made, y);
  maker.note("n", "Relu", 0);
  auto plugin = std::make_unique<fbs::PluginT>();
  plugin->name = name;
  plugin->version = "1.2";
  maker.program.plugins.push_back(std::move(plugin));
  return maker;
}

class PluginProgram : public PluginRegion {
 protected:
  Result<Session> bind(const ProgramMaker& maker) {
    TRY(maker.write(folder_ / "p.so"));
    return Session::create(
        TRY(bind_program(TRY(load_program(folder_ / "p.so", plugin_run_backends())), BindOptions{})));
  }

  TestFolder folder_;
};

Result<Floats> run(Session& session, Floats x, const Shape& shape = {2, 3}) {
  Floats y(x.size());
  const NamedTensor inputs[] = {{"x", {x.data(), DType::f32, shape}, nullptr}};
  NamedTensor outputs[] = {{"y", {y.data(), DType::f32, shape}, nullptr}};
  TRY(session.run("main", inputs, outputs));
  return y;
}

TEST_F(PluginProgram, RunsAndCountsItsCopies) {
  auto session = bind(plugin_program("test_npu", compile_relu("test_npu")->blob));
  ASSERT_TRUE(session) << session.error().message;
  const Floats x{1, 2, 3, 4, 5, 6};
  for (uint64_t runs = 1; runs <= 2; ++runs) {
    EXPECT_EQ(run(*session, x), x);
    const CopyCounts counts = session->program().executors[1]->space()->copy_counts();
    EXPECT_EQ(counts, (CopyCounts{1 + runs, 8 + runs * 24, runs, runs * 24, 0, 0}));
  }
}

TEST_F(PluginProgram, AfterARunThatFailedTheNextOneWorks) {
  auto session = bind(plugin_program("test_npu", compile_relu("test_npu")->blob));
  ASSERT_TRUE(session) << session.error().message;
  const Floats x{1, 2, 3, 4, 5, 6};
  for (const char* fault : {"run error", "wait error", "upload error", "download error"}) {
    const auto failed = [&] {
      const Fault at(fault);
      return run(*session, x);
    }();
    ASSERT_FALSE(failed) << fault;
    EXPECT_NE(failed.error().message.find("on test_npu:0: a declared fault"), std::string::npos);
    if (std::strcmp(fault, "run error") == 0) {
      EXPECT_NE(failed.error().message.find("region 0 (test_npu@npu: n (Relu))"), std::string::npos)
          << failed.error().message;
    }
    EXPECT_EQ(run(*session, x), x) << fault;
  }
}

/// Runs y = max(2 * x - 5, 0) on the example's device.
TEST_F(PluginProgram, OnTheToyNpu) {
  ASSERT_TRUE(load_plugin(TEST_PLUGINS "/libtoy_npu.so"));
  const Graph graph = parse_graph(
                          "graph \"\" opsets {\"\": 18}\ninput %x : f32[1,1,2,3]\n"
                          "const %w : f32[1,1,1,1] = {2}\nconst %b : f32[1] = {-5}\n"
                          "%c : f32[1,1,2,3] = Conv(%x, %w, %b) \"c\"\n"
                          "%y : f32[1,1,2,3] = Relu(%c) \"r\"\noutput %y\n")
                          .value();
  const auto target = make_plugin_target(find_plugin("toy_npu"));
  EXPECT_TRUE(target->supports(graph, NodeId{1}, {"toy_npu", "toy_npu:0"}).yes);
  const auto compiled = target->compile(graph, {"toy_npu", "toy_npu:0"}, {});
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(compiled->constants.size(), 2u);
  const Shape shape{1, 1, 2, 3};
  auto session = bind(plugin_program("toy_npu", compiled->blob, shape, {{2}, {-5}}));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(run(*session, {1, 2, 3, 4, 5, 6}, shape), (Floats{0, 0, 1, 3, 5, 7}));
}

/// Checks that damaged blobs are refused, or compute something within their memory.
TEST_F(PluginProgram, OnTheToyNpuWithADamagedBlob) {
  ASSERT_TRUE(load_plugin(TEST_PLUGINS "/libtoy_npu.so"));
  const Graph graph = parse_graph(
                          "graph \"\" opsets {\"\": 18}\ninput %x : f32[1,1,2,3]\n"
                          "const %w : f32[1,1,1,1] = {2}\n"
                          "%y : f32[1,1,2,3] = Conv(%x, %w) \"c\"\noutput %y\n")
                          .value();
  const std::string blob =
      make_plugin_target(find_plugin("toy_npu"))->compile(graph, {"toy_npu", "toy_npu:0"}, {})->blob;
  const Shape shape{1, 1, 2, 3};
  int refused = 0;
  for (size_t at = 64; at < blob.size() - 64; at += 8) {
    std::string damaged = blob;
    damaged[at] = static_cast<char>(damaged[at] + 7);
    auto session = bind(plugin_program("toy_npu", damaged, shape, {{2}}));
    refused += !session || !run(*session, {1, 2, 3, 4, 5, 6}, shape);
  }
  EXPECT_GT(refused, 5);
  EXPECT_FALSE(bind(plugin_program("toy_npu", blob.substr(0, blob.size() - 1), shape, {{2}})));
}

TEST_F(PluginProgram, OfAnotherMajorVersion) {
  const std::string blob = plugin::encode_blob({"version_2_npu", "1.2", 1, 1, 1}, "copy");
  const auto session = bind(plugin_program("version_2_npu", blob));
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::version);
  EXPECT_NE(
      session.error().message.find(
          "it was compiled with version 1.2 of the plug-in 'version_2_npu', and '" + path_of("version_2") +
          "' is of version 2.0: load one of version 1.*, or compile the model again"),
      std::string::npos)
      << session.error().message;
}

TEST_F(PluginProgram, WithoutThePluginSaysWhatIsMissing) {
  const auto session = bind(plugin_program("absent_npu", "?"));
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::not_found);
  EXPECT_NE(
      session.error().message.find("it needs the plug-in 'absent_npu' (compiled with version 1.2), which "
                                   "is not loaded: name its library with --plugin"),
      std::string::npos)
      << session.error().message;
}

TEST_F(PluginProgram, WithADamagedBlobIsRefused) {
  for (const std::string& blob : {std::string("copy"), plugin::encode_blob({"test_npu", "1.2", 1, 1, 1}, "?"),
                                  plugin::encode_blob({"other", "1.2", 1, 1, 1}, "copy"),
                                  plugin::encode_blob({"test_npu", "1.2", 1, 1, 2}, "copy")}) {
    const auto session = bind(plugin_program("test_npu", blob));
    ASSERT_FALSE(session) << blob;
    EXPECT_NE(session.error().message.find("region 0"), std::string::npos) << session.error().message;
  }
}

}  // namespace
}  // namespace intarsia::test
