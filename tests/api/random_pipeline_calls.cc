// Random calls of the pipelines' C API, many with bad arguments: each bad one gives a clear error, and
// nothing leaks.
//
// Covers: src/api/ callable_stage.cc pipeline_api.cc pipeline_builder.cc read_bind_options.cc
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include <intarsia/intarsia_pipeline.h>

#include "api/run_backends.h"
#include "tests/support/rounds.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

/// Counts of release functions that must be called, and of those that were.
std::atomic<int> promised{0}, released{0};
void count_release(void*) { ++released; }

/// Returns false for an error, which must be one line and must not be an internal one.
bool is_fine(intarsia_error* error) {
  if (error == nullptr) return true;
  const std::string message = intarsia_error_message(error);
  EXPECT_FALSE(message.empty());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(intarsia_error_kind(error), INTARSIA_ERROR_INTERNAL) << message;
  intarsia_error_release(error);
  return false;
}

/// Works, fails, or makes bad calls, depending on the frame's number.
void run_stage(void*, intarsia_stage_call* call, const intarsia_tensor* inputs, size_t input_count) {
  void* data = nullptr;
  const int64_t one = 1;
  const auto allocate = [&](size_t output) {
    return is_fine(intarsia_stage_call_allocate(call, output, INTARSIA_F32, 1, &one, &data));
  };
  switch (intarsia_stage_call_frame(call) % 8) {
    case 0:
      return;  // leaves the output without a value
    case 1:
      return intarsia_stage_call_fail(call, nullptr);
    case 2:
      EXPECT_FALSE(is_fine(intarsia_stage_call_allocate(call, 0, 99, 1, &one, &data)));
      EXPECT_FALSE(is_fine(intarsia_stage_call_allocate(call, 0, INTARSIA_F32, 1, nullptr, &data)));
      EXPECT_FALSE(is_fine(intarsia_stage_call_allocate(call, 0, INTARSIA_F32, 1, &one, nullptr)));
      EXPECT_FALSE(is_fine(intarsia_stage_call_allocate(call, 9, INTARSIA_F32, 1, &one, &data)));
      EXPECT_FALSE(is_fine(intarsia_stage_call_give(call, 0, nullptr, count_release, nullptr)));
      EXPECT_FALSE(is_fine(intarsia_stage_call_give(call, 1 << 20, inputs, count_release, nullptr)));
      EXPECT_FALSE(is_fine(intarsia_stage_call_keep(call, 9, nullptr)));
      break;
    case 3: {
      static float given = 1;
      const intarsia_tensor value{
          .struct_size = sizeof(value), .dtype = INTARSIA_F32, .data = &given, .rank = 1, .shape = &one};
      if (is_fine(intarsia_stage_call_give(call, 0, &value, count_release, nullptr))) ++promised;
      return;
    }
    case 5:
      return intarsia_stage_call_drop(call, input_count > 0 ? "on purpose" : nullptr);
    case 4:
      if (input_count > 0) {
        intarsia_tensor kept{.struct_size = sizeof(kept)};
        if (is_fine(intarsia_stage_call_keep(call, 0, &kept))) intarsia_tensor_release(&kept);
      }
      break;
    default:
      break;
  }
  for (size_t output = 0; output < 2; ++output) allocate(output);  // maybe again, or a missing one
}

using Text = const char*;

class RandomChoices {
 public:
  explicit RandomChoices(uint32_t seed) : generator_(seed) {}

  uint32_t below(uint32_t count) { return static_cast<uint32_t>(generator_() % count); }
  bool one_in(uint32_t count) { return below(count) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[generator_() % choices.size()];
  }
  Text stage_name() { return pick<Text>({"a", "net", "b", "", "a.b", nullptr}); }
  Text port_name() { return pick<Text>({"x", "y", "z", "", nullptr}); }

 private:
  std::mt19937 generator_;
};

class RandomBuilder {
 public:
  RandomBuilder(RandomChoices& random, const intarsia_program* program) : random_(random), program_(program) {
    EXPECT_TRUE(is_fine(intarsia_pipeline_builder_create(&builder_)));
  }
  ~RandomBuilder() { intarsia_pipeline_builder_release(builder_); }
  RandomBuilder(const RandomBuilder&) = delete;
  RandomBuilder& operator=(const RandomBuilder&) = delete;

  void build() {
    if (!random_.one_in(4)) add_chain();
    for (uint32_t left = random_.below(6); left > 0; --left) add_anything();
    if (random_.one_in(2)) set_options();
    if (!random_.one_in(4)) is_fine(intarsia_pipeline_connect_by_name(builder_));
  }

  /// Starts the pipeline; null if that fails.
  intarsia_pipeline* start() {
    intarsia_pipeline* pipeline = nullptr;
    const intarsia_pipeline_options options{
        .struct_size = random_.one_in(8) ? 0 : sizeof(options),
        .depth = random_.pick({0u, 1u, 4u, ~0u}),
        .timeout_ns = random_.pick<int64_t>({0, 0, -1, 1'000'000, INT64_MAX}),
        .queue = random_.pick({0, 0, 1, 2, 3, 7}),
        .deadline_ns = random_.pick<int64_t>({0, 0, -1, 1'000'000, INT64_MAX})};
    is_fine(intarsia_pipeline_start(builder(), random_.one_in(2) ? nullptr : &options,
                                    random_.one_in(10) ? nullptr : &pipeline));
    return pipeline;
  }

 private:
  intarsia_pipeline_builder* builder() { return random_.one_in(10) ? nullptr : builder_; }

  /// Adds the start of a working pipeline: a, then net.
  void add_chain() {
    const Text names[] = {"x"};
    const intarsia_stage_function about{.struct_size = sizeof(about),
                                        .name = "a",
                                        .inputs = names,
                                        .input_count = 1,
                                        .outputs = names,
                                        .output_count = 1,
                                        .run = run_stage,
                                        .release = count_release};
    if (is_fine(intarsia_pipeline_add_function(builder_, &about))) ++promised;
    if (random_.one_in(2))
      is_fine(intarsia_pipeline_add_program(builder_, "net", program_, nullptr, nullptr));
  }

  void add_anything() {
    const Text function = random_.pick<Text>({nullptr, "main", "other", ""});
    const intarsia_program* program = random_.one_in(6) ? nullptr : program_;
    const intarsia_binding binding{random_.pick<Text>({"cpu", "gpu", nullptr}),
                                   random_.pick<Text>({"cpu", "moon", nullptr})};
    const intarsia_bind_options bind{.struct_size = random_.pick<size_t>({sizeof(bind), 0}),
                                     .bindings = random_.one_in(3) ? nullptr : &binding,
                                     .binding_count = random_.pick<size_t>({0, 1}),
                                     .threads = random_.pick({0, 1, -1, 1 << 30})};
    const intarsia_bind_options* options = random_.one_in(2) ? nullptr : &bind;
    switch (random_.below(6)) {
      case 0:
        return add_function();
      case 1:
        is_fine(intarsia_pipeline_add_program(builder(), random_.stage_name(), program, function, options));
        return;
      case 2:
        is_fine(intarsia_pipeline_add_replica(builder(), random_.stage_name(), options));
        return;
      case 3:
        is_fine(intarsia_pipeline_add_stages(builder(), program, function));
        return;
      case 4:
        is_fine(intarsia_pipeline_connect(builder(), random_.stage_name(), random_.port_name(),
                                          random_.stage_name(), random_.port_name()));
        return;
      default:
        is_fine(intarsia_pipeline_read(builder(), random_.pick<Text>({nullptr, "", "/nowhere.json"})));
    }
  }

  void add_function() {
    const Text names[] = {random_.port_name(), random_.port_name()};
    intarsia_stage_function about{.struct_size = random_.one_in(8) ? 0 : sizeof(about),
                                  .name = random_.stage_name(),
                                  .inputs = random_.one_in(8) ? nullptr : names,
                                  .input_count = random_.below(3),
                                  .outputs = random_.one_in(8) ? nullptr : names,
                                  .output_count = random_.below(3),
                                  .cores = random_.pick<Text>({nullptr, nullptr, "0", "nine", ""}),
                                  .thread_count = random_.pick({0u, 1u, 3u, ~0u}),
                                  .run = random_.one_in(8) ? nullptr : run_stage,
                                  .user = nullptr,
                                  .release = count_release};
    if (is_fine(intarsia_pipeline_add_function(builder(), &about))) ++promised;
  }

  void set_options() {
    const Text names[] = {random_.pick<Text>({"x", "x", "y", nullptr})};
    const intarsia_stage_options options{.struct_size = random_.one_in(8) ? 0 : sizeof(options),
                                         .queue = random_.pick({0, 1, 2, 3, 4, -1}),
                                         .gather = random_.pick({0, 0, 1}),
                                         .scatter = random_.one_in(8) ? nullptr : names,
                                         .scatter_count = random_.pick<size_t>({0, 1})};
    is_fine(intarsia_pipeline_set_stage_options(builder(), random_.stage_name(),
                                                random_.one_in(8) ? nullptr : &options));
  }

  RandomChoices& random_;
  const intarsia_program* program_;
  intarsia_pipeline_builder* builder_ = nullptr;
};

class RandomCaller {
 public:
  explicit RandomCaller(RandomChoices& random) : random_(random) {}
  ~RandomCaller() { intarsia_pipeline_release(pipeline_); }
  RandomCaller(const RandomCaller&) = delete;
  RandomCaller& operator=(const RandomCaller&) = delete;

  /// Takes the pipeline, which may be null, and calls it.
  void call(intarsia_pipeline* pipeline) {
    pipeline_ = pipeline;
    for (int i = 0; i < 60; ++i) {
      const uint32_t call = random_.below(40);
      if (call < 16) push();
      if (call >= 16 && call < 36) pop();
      if (call == 36) ask();
      if (call == 37 && random_.one_in(3)) is_fine(intarsia_pipeline_finish(pipeline_));
      if (call == 38 && random_.one_in(3)) is_fine(intarsia_pipeline_cancel(pipeline_));
    }
  }

 private:
  intarsia_tensor tensor(float* data) {
    static const int64_t shapes[][2] = {
        {4, 1}, {1, 1}, {-1, 2}, {int64_t{1} << 40, int64_t{1} << 40}, {0, 3}};
    const bool is_bad = random_.one_in(3);
    return {.struct_size = is_bad && random_.one_in(4) ? 0 : sizeof(intarsia_tensor),
            .name = is_bad ? random_.port_name() : "x",
            .kind = is_bad ? random_.pick({0, 1, 77}) : INTARSIA_TENSOR,
            .dtype = is_bad ? random_.pick({0, 1, -1, 99, int{INTARSIA_STRING}}) : INTARSIA_F32,
            .data = is_bad ? nullptr : data,
            .rank = is_bad ? random_.below(3) : 1,
            .shape = is_bad && random_.one_in(3) ? nullptr : shapes[is_bad ? random_.below(5) : 0]};
  }

  void push() {
    std::array<float, 4> data{1, 2, 3, 4};
    static std::array<float, 4> kept{1, 2, 3, 4};
    const bool is_owned = random_.one_in(3);
    const intarsia_frame_owner owner{random_.one_in(4) ? nullptr : count_release, nullptr};
    intarsia_tensor tensors[2];
    for (intarsia_tensor& one : tensors) one = tensor(is_owned ? kept.data() : data.data());
    int32_t pushed = 0;
    uint64_t number = 0;
    const intarsia_frame_options options{
        .struct_size = random_.one_in(8) ? 0 : sizeof(options),
        .deadline_ns = random_.pick<int64_t>({0, 0, -1, 1'000'000, INT64_MAX}),
        .timestamp = -1,
        .user = this};
    const bool went_well = is_fine(intarsia_pipeline_push_frame(
        pipeline_, random_.pick<int64_t>({0, 100'000}), random_.one_in(10) ? nullptr : tensors,
        random_.pick<size_t>({1, 1, 1, 0, 2}), is_owned ? &owner : nullptr,
        random_.one_in(2) ? &options : nullptr, is_owned || random_.one_in(2) ? &pushed : nullptr,
        random_.one_in(2) ? &number : nullptr));
    if (went_well && pushed == 1 && is_owned && owner.release != nullptr) ++promised;
  }

  void pop() {
    std::array<float, 16> buffer{};
    intarsia_tensor outputs[2];
    for (intarsia_tensor& one : outputs) {
      one = tensor(random_.one_in(2) ? nullptr : buffer.data());
      one.name = random_.pick<Text>({"x", "y", one.name});
    }
    intarsia_frame frame{.struct_size = random_.one_in(10) ? 0 : sizeof(frame)};
    is_fine(intarsia_pipeline_pop(pipeline_, random_.pick<int64_t>({0, 100'000}),
                                  random_.one_in(10) ? nullptr : outputs, random_.pick<size_t>({1, 1, 0, 2}),
                                  random_.one_in(10) ? nullptr : &frame));
    for (intarsia_tensor& one : outputs) intarsia_tensor_release(&one);
  }

  void ask() {
    intarsia_pipeline_info info{.struct_size = random_.one_in(3) ? 0 : sizeof(info)};
    intarsia_argument argument{.struct_size = random_.one_in(3) ? 0 : sizeof(argument)};
    intarsia_stage_statistics statistics{.struct_size = random_.one_in(3) ? 0 : sizeof(statistics)};
    const size_t number = random_.pick<size_t>({0, 1, 7, ~size_t{0}});
    is_fine(intarsia_pipeline_describe(pipeline_, random_.one_in(3) ? nullptr : &info));
    is_fine(intarsia_pipeline_input(pipeline_, number, random_.one_in(3) ? nullptr : &argument));
    is_fine(intarsia_pipeline_output(pipeline_, number, random_.one_in(3) ? nullptr : &argument));
    is_fine(intarsia_pipeline_stage(pipeline_, number, random_.one_in(3) ? nullptr : &statistics));
    intarsia_frame_statistics frames{.struct_size = random_.one_in(3) ? 0 : sizeof(frames)};
    intarsia_time_histogram histogram{.struct_size = random_.one_in(3) ? 0 : sizeof(histogram)};
    is_fine(intarsia_pipeline_frames(pipeline_, random_.one_in(3) ? nullptr : &frames));
    is_fine(intarsia_pipeline_times(pipeline_, random_.pick({0, 1, 2, 3, -1}), number,
                                    random_.one_in(3) ? nullptr : &histogram));
    EXPECT_GT(intarsia_time_bucket_bound_ns(number), 0);
  }

  RandomChoices& random_;
  intarsia_pipeline* pipeline_ = nullptr;
};

TEST(RandomPipelineCalls, BadArgumentsAreErrorsAndNothingLeaks) {
  const TestFolder folder;
  ASSERT_TRUE(small_program().write(folder / "p.so"));
  intarsia_program* program = nullptr;
  ASSERT_TRUE(is_fine(intarsia_program_load((folder / "p.so").c_str(), &program)));
  for (uint32_t seed = 0; seed < 300 * rounds(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomChoices random(seed);
    RandomCaller caller(random);
    RandomBuilder builder(random, program);
    builder.build();
    caller.call(builder.start());
    if (HasFailure()) break;
  }
  intarsia_program_release(program);
  for (int i = 0; i < 1000 && released < promised; ++i)  // stages may still run
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(released, promised);
  EXPECT_GT(promised, 300);
}

}  // namespace
}  // namespace intarsia::test
