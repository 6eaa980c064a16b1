// C API of the compile half, through its C++ wrapper.
//
// Covers: src/api/ compile_api.cc give_text.cc peer_api.cc read_request.cc
// registry/ peers.cc
// src/measure/ compare_tensors.cc cpu_contention.cc
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <intarsia/intarsia_compile.hpp>
#include <thread>

#include "tests/support/onnx_writer.h"

namespace {

namespace fs = std::filesystem;

/// Folder that is removed at the end of the process.
class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_ = fs::temp_directory_path() / ("intarsia-compile-api-" + std::to_string(getpid()));
};

std::string program(const std::string& name) {
  static const Folder folder;
  return folder / name;
}

/// Writes the model y = factor * x for f32[4] and returns its path.
std::string scale_model(float factor) {
  using namespace intarsia::onnx;
  const std::string path = program("scale" + std::to_string(factor) + ".onnx");
  const std::string x = value_message("x", intarsia::DType::f32, {4}),
                    y = value_message("y", intarsia::DType::f32, {4});
  const std::string bytes = model_message({.nodes = {node_message("Mul", {"x", "f"}, {"y"}, {}, "", "scale")},
                                           .initializers = {floats_message("f", {factor})},
                                           .inputs = {x},
                                           .outputs = {y}});
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

intarsia::CompileOptions reference() {
  intarsia::CompileOptions options;
  options.backends = {"reference"};
  return options;
}

std::vector<float> run(intarsia::Session& session) {
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  session.run({{"x", {x.data(), {4}}}}, {{"y", {y.data(), {4}}}});
  return y;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const intarsia::Error& error) {
    return error.what();
  }
  return "no error";
}

using Values = std::vector<float>;

TEST(CompileApi, RecompilesToThePathOfALoadedProgram) {
  const auto& compiler = intarsia::Compiler::get();
  const std::string path = program("same.so");
  compiler.compile(scale_model(-1), path, reference());
  const auto old_program = intarsia::Program::load(path);
  auto old_session = old_program.bind();
  EXPECT_EQ(run(old_session), (Values{-1, -2, -3, -4}));
  compiler.compile(scale_model(2), path, reference());
  auto new_session = intarsia::Program::load(path).bind();
  EXPECT_EQ(run(new_session), (Values{2, 4, 6, 8}));
  EXPECT_EQ(run(old_session), (Values{-1, -2, -3, -4}));
  auto another_session = old_program.bind();
  EXPECT_EQ(run(another_session), (Values{-1, -2, -3, -4}));
}

TEST(CompileApi, SeveralThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const std::string path = program("thread" + std::to_string(i) + ".so");
      intarsia::Compiler::get().compile(scale_model(static_cast<float>(i)), path, reference());
      auto session = intarsia::Program::load(path).bind();
      EXPECT_EQ(run(session)[0], static_cast<float>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CompileApi, TheSameModelGivesTheSameBytes) {
  const auto bytes = [](const std::string& path) {
    intarsia::Compiler::get().compile(scale_model(-1), path, reference());
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_TRUE(bytes(program("a.so")) == bytes(program("b.so")));
}

TEST(CompileApi, TellsProgressAndPrints) {
  intarsia::CompileOptions options = reference();
  std::vector<std::string> phases;
  std::string printed;
  int before = 0;
  options.progress = [&](const std::string& phase, int done, int total) {
    EXPECT_LE(before, done);
    EXPECT_LE(done, total);
    before = done;
    phases.push_back(done == total ? phase + " to the end" : phase);
  };
  options.print = [&](const std::string& text) { printed += text; };
  options.print_after = {"place_nodes"};
  intarsia::Compiler::get().compile(scale_model(-1), program("progress.so"), options);
  EXPECT_EQ(phases.front(), "import");
  EXPECT_EQ(phases.back(), "emit_program to the end");
  EXPECT_NE(printed.find("reference@cpu"), std::string::npos);
}

TEST(CompileApi, ChecksWithGivenInputs) {
  std::vector<float> x = {1, 2, 3, 4};
  intarsia::CheckOptions options;
  options.against = "reference";
  options.compile = reference();
  options.inputs = {{"x", {x.data(), {4}}}};
  const intarsia::CheckReport report = intarsia::Compiler::get().check(scale_model(2), options);
  EXPECT_TRUE(report.ok) << report.json;
  EXPECT_NE(report.json.find("\"filled\": false"), std::string::npos);
}

class Peers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Peers, testing::Values("onnxruntime", "openvino"));

TEST_P(Peers, ComputeRepeatedly) {
  const auto& compiler = intarsia::Compiler::get();
  std::vector<float> x = {1, 2, 3, 4};
  intarsia::Peer peer = compiler.open_peer(GetParam(), "", scale_model(2), 1, {{"x", {x.data(), {4}}}});
  EXPECT_NE(peer.version(), "");
  for (const float first : {1.0f, 5.0f}) {
    x[0] = first;  // the inputs' memory is used in place
    peer.run();
    const std::vector<intarsia::Value> outputs = peer.outputs();
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_STREQ(outputs[0].tensor().name, "y");
    EXPECT_EQ(outputs[0].shape(), std::vector<int64_t>{4});
    EXPECT_EQ(outputs[0].data<float>()[0], 2 * first);
    EXPECT_EQ(outputs[0].data<float>()[3], 8);
  }
}

TEST_P(Peers, ForThroughputRunInSeveralLanesAtOnce) {
  std::vector<float> x = {1, 2, 3, 4};
  intarsia::Peer peer = intarsia::Compiler::get().open_peer(GetParam(), "throughput", scale_model(2), 1,
                                                            {{"x", {x.data(), {4}}}});
  ASSERT_GE(peer.lane_count(), 1u);
  std::vector<std::string> errors(peer.lane_count(), "no error");
  std::vector<std::thread> threads;
  for (size_t lane = 0; lane < errors.size(); ++lane)
    threads.emplace_back([&, lane] {
      for (int run = 0; run < 20 && errors[lane] == "no error"; ++run)
        errors[lane] = message_of([&] { peer.run_lane(lane); });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, std::vector<std::string>(errors.size(), "no error"));
  EXPECT_EQ(peer.outputs().at(0).data<float>()[3], 8);
  EXPECT_EQ(message_of([&] { peer.run_lane(errors.size()); }),
            "lane " + std::to_string(errors.size()) + " of " + std::to_string(errors.size()));
}

TEST_P(Peers, ErrorsSayWhatIsWrong) {
  const auto& compiler = intarsia::Compiler::get();
  std::vector<float> x = {1, 2, 3, 4};
  const intarsia::NamedView input = {"x", {x.data(), {4}}}, stranger = {"z", {x.data(), {4}}};
  const auto open = [&](const char* configuration, int threads,
                        const std::vector<intarsia::NamedView>& inputs) {
    return message_of(
        [&] { compiler.open_peer(GetParam(), configuration, scale_model(2), threads, inputs); });
  };
  EXPECT_NE(open("nonsense", 1, {input}).find("no configuration 'nonsense'"), std::string::npos);
  EXPECT_NE(open("", 0, {input}).find("threads 0"), std::string::npos);
  EXPECT_NE(open("", 1, {}), "");
  EXPECT_NE(open("", 1, {stranger}).find("'z'"), std::string::npos);
  const std::string absent =
      message_of([&] { compiler.open_peer(GetParam(), "", "nowhere.onnx", 1, {input}); });
  EXPECT_NE(absent.find("nowhere.onnx"), std::string::npos);
}

TEST(CompileApi, AnUnknownRuntimeIsRefused) {
  const std::string message =
      message_of([] { intarsia::Compiler::get().open_peer("tvm", "", "a.onnx", 1, {}); });
  EXPECT_EQ(message, "no runtime 'tvm' to compare with; want onnxruntime, openvino or tensorflow");
}

TEST(CompileApi, AStepThatNoBackendHasIsAnErrorAlsoWithoutACompile) {
  intarsia::CompileOptions options = reference();
  options.print_after = {"halide.lunch"};
  const std::string message = message_of([&] { intarsia::Compiler::get().explain(scale_model(2), options); });
  EXPECT_NE(message.find("--print-after halide.lunch: no such step"), std::string::npos) << message;
}

TEST(CompileApi, ExplainsInAllForms) {
  const intarsia::Explanation explanation = intarsia::Compiler::get().explain(scale_model(2), reference());
  EXPECT_NE(explanation.json.find("\"unsupported_ops\""), std::string::npos);
  EXPECT_NE(explanation.text.find("1 node in 1 region"), std::string::npos);
  EXPECT_NE(explanation.nodes.find("scale (Mul): region 0, reference@cpu, first choice\n"),
            std::string::npos);
  EXPECT_TRUE(explanation.dot.starts_with("digraph")) << explanation.dot;
  EXPECT_TRUE(explanation.html.starts_with("<!DOCTYPE html>")) << explanation.html.substr(0, 100);
}

TEST(CompileApi, ComparesTensors) {
  std::vector<float> a = {1, 2, 3, 4}, b = {1, 2, 3, 4.1f};
  const intarsia::View actual(a.data(), {4}), reference(b.data(), {4});
  const std::string name = "y";
  const auto same = intarsia::Compiler::get().compare(intarsia::detail::tensor(name, actual),
                                                      intarsia::detail::tensor(name, actual));
  const auto other = intarsia::Compiler::get().compare(intarsia::detail::tensor(name, actual),
                                                       intarsia::detail::tensor(name, reference));
  EXPECT_TRUE(same.ok);
  EXPECT_FALSE(other.ok);
  EXPECT_NE(other.json.find("element 3 is 4, want 4.0999"), std::string::npos) << other.json;
}

/// Checks that floats of 16 bits may differ by more: f16 256 and 257, but not 264; bf16 1 and 1.03125, but
/// not 1.125.
TEST(CompileApi, ComparesTensorsOfSixteenBits) {
  struct Numbers {
    int32_t dtype;
    uint16_t number, near, far;
  };
  const int64_t one = 1;
  for (auto [dtype, number, near, far] :
       {Numbers{INTARSIA_F16, 0x5c00, 0x5c04, 0x5c20}, Numbers{INTARSIA_BF16, 0x3f80, 0x3f84, 0x3f90}}) {
    const auto view = [&](uint16_t& bits) {
      intarsia_tensor tensor{};
      tensor.struct_size = sizeof(tensor);
      tensor.name = "y", tensor.kind = INTARSIA_TENSOR, tensor.dtype = dtype;
      tensor.data = &bits, tensor.rank = 1, tensor.shape = &one;
      return tensor;
    };
    EXPECT_TRUE(intarsia::Compiler::get().compare(view(near), view(number)).ok);
    EXPECT_FALSE(intarsia::Compiler::get().compare(view(far), view(number)).ok);
  }
}

TEST(CompileApi, ACancelledCompileHasItsOwnKind) {
  intarsia::CompileOptions options;
  options.is_cancelled = [] { return true; };
  try {
    intarsia::Compiler::get().compile(scale_model(-1), program("cancelled.so"), options);
    FAIL();
  } catch (const intarsia::Error& error) {
    EXPECT_STREQ(error.what(), "interrupted");
    EXPECT_EQ(error.kind(), INTARSIA_ERROR_CANCELLED);
  }
}

TEST(CompileApi, ErrorsNameTheOption) {
  const auto& compiler = intarsia::Compiler::get();
  intarsia::CompileOptions options;
  options.fallback = static_cast<intarsia::Fallback>(7);
  EXPECT_EQ(message_of([&] { compiler.compile(scale_model(-1), program("x.so"), options); }),
            "no such choice: 7");
  EXPECT_EQ(message_of([&] { intarsia::detail::choice_of<intarsia::Tune>("sometimes", "--tune"); }),
            "--tune sometimes: want fast or off or full");
  EXPECT_NE(message_of([&] { compiler.compile("nowhere.onnx", program("x.so")); }).find("nowhere.onnx"),
            std::string::npos);
  intarsia_compile_request request{};
  intarsia_error* error = intarsia_compile(&request, nullptr);
  EXPECT_EQ(message_of([&] { intarsia::detail::check(error); }).rfind("struct_size", 0), 0u);
  const std::string model = scale_model(-1), path = program("x.so");
  request.struct_size = sizeof(request);
  request.model = model.c_str();
  request.program = path.c_str();
  request.fallback = "perhaps";
  error = intarsia_compile(&request, nullptr);
  EXPECT_EQ(message_of([&] { intarsia::detail::check(error); }), "--fallback perhaps: want auto or none");
}

TEST(Measuring, AsksForCoresThatAreThere) {
  const auto& compiler = intarsia::Compiler::get();
  EXPECT_TRUE(compiler.has_free_cores(1));
  EXPECT_FALSE(compiler.has_free_cores(1'000'000));
}

}  // namespace
