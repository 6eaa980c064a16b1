// Random graphs of stages, with replicas, delays and errors, give what their stages give one after the other.
//
// Covers: src/pipeline/ pipeline_state.cc pipeline_workers.cc pipeline_graph.cc
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "pipeline/pipeline.h"
#include "tests/support/rounds.h"

namespace intarsia {
namespace {

/// Source of a stage's input: an input of the pipeline, or an output of an earlier stage.
struct Source {
  int stage = -1;  // number of the stage; -1: the pipeline
  int port = 0;
};

/// Plan of a stage: output o is the sum of its inputs, each times its number plus 2, plus 10 times o, mod
/// 1000003.
struct StagePlan {
  std::vector<Source> inputs;
  int outputs = 1, replicas = 1;
  uint32_t fails_each = 0;  // one frame in this many fails; 0: none
};

struct PipelinePlan {
  int inputs = 1;
  size_t depth = 1;
  std::vector<StagePlan> stages;
};

int64_t output_of(const std::vector<int64_t>& inputs, int output) {
  int64_t sum = 10 * output;
  for (size_t i = 0; i < inputs.size(); ++i) sum += static_cast<int64_t>(i + 2) * inputs[i];
  return sum % 1'000'003;
}

bool fails(const StagePlan& plan, uint64_t frame, size_t stage) {
  return plan.fails_each > 0 && (frame * 7 + stage) % plan.fails_each == 0;
}

std::string port_name(const char* kind, int number) { return kind + std::to_string(number); }

class PlannedStage final : public Stage {
 public:
  PlannedStage(const StagePlan& plan, size_t number) : plan_(plan), number_(number) {
    for (size_t i = 0; i < plan.inputs.size(); ++i)
      inputs_.push_back({port_name("in", static_cast<int>(i)), DType::i64, Shape{1}});
    for (int o = 0; o < plan.outputs; ++o) outputs_.push_back({port_name("out", o), DType::i64, Shape{1}});
  }
  std::span<const StagePort> inputs() const override { return inputs_; }
  std::span<const StagePort> outputs() const override { return outputs_; }
  Status run(uint64_t frame, std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) override {
    if ((frame + number_) % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(frame * 37 % 200));
    if (fails(plan_, frame, number_)) return fail("on purpose");
    std::vector<int64_t> values;
    for (const NamedTensor& input : inputs) values.push_back(*static_cast<const int64_t*>(input.tensor.data));
    for (size_t o = 0; o < outputs.size(); ++o)
      *static_cast<int64_t*>(outputs[o].tensor.data) = output_of(values, static_cast<int>(o));
    return {};
  }

 private:
  StagePlan plan_;
  size_t number_;
  std::vector<StagePort> inputs_, outputs_;
};

PipelinePlan random_plan(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<uint32_t>(most)) + 1; };
  PipelinePlan plan{.inputs = up_to(3), .depth = static_cast<size_t>(up_to(4)), .stages = {}};
  const int stages = up_to(8);
  for (int s = 0; s < stages; ++s) {
    StagePlan& stage = plan.stages.emplace_back();
    for (int i = up_to(3); i > 0; --i) {
      const int from = static_cast<int>(random() % static_cast<uint32_t>(s + 1)) - 1;
      const int ports = from < 0 ? plan.inputs : plan.stages[static_cast<size_t>(from)].outputs;
      stage.inputs.push_back({from, up_to(ports) - 1});
    }
    stage.outputs = up_to(2);
    stage.replicas = up_to(3);
    if (random() % 4 == 0) stage.fails_each = 5 + random() % 20;
  }
  return plan;
}

/// Returns the outputs of all stages for a frame; nullopt if one of them fails.
std::optional<std::vector<std::vector<int64_t>>> expected_of(const PipelinePlan& plan, uint64_t frame) {
  std::vector<std::vector<int64_t>> made;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    if (fails(plan.stages[s], frame, s)) return std::nullopt;
    std::vector<int64_t> inputs;
    for (const Source& source : plan.stages[s].inputs)
      inputs.push_back(source.stage < 0 ? static_cast<int64_t>(frame) * 3 + source.port
                                        : made[size_t(source.stage)][size_t(source.port)]);
    made.emplace_back();
    for (int o = 0; o < plan.stages[s].outputs; ++o) made.back().push_back(output_of(inputs, o));
  }
  return made;
}

/// Makes the graph; each output o of each stage s is an output of the pipeline, "s.o".
PipelineGraph make_graph(const PipelinePlan& plan) {
  PipelineGraph graph;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    PipelineGraph::NamedStage& named =
        graph.stages.emplace_back(PipelineGraph::NamedStage{std::to_string(s), {}});
    for (int r = 0; r < plan.stages[s].replicas; ++r)
      named.replicas.push_back(std::make_unique<PlannedStage>(plan.stages[s], s));
    for (size_t i = 0; i < plan.stages[s].inputs.size(); ++i) {
      const Source& source = plan.stages[s].inputs[i];
      const PortName from = source.stage < 0
                                ? PortName{"", port_name("x", source.port)}
                                : PortName{std::to_string(source.stage), port_name("out", source.port)};
      graph.connections.push_back({from, {named.name, port_name("in", static_cast<int>(i))}});
    }
    for (int o = 0; o < plan.stages[s].outputs; ++o)
      graph.connections.push_back({{named.name, port_name("out", o)}, {"", fmt::format("{}.{}", s, o)}});
  }
  return graph;
}

/// Pushes frames; the inputs of the pipeline are those that a stage reads.
void push_frames(Pipeline& pipeline, uint64_t frames) {
  for (uint64_t frame = 0; frame < frames; ++frame) {
    std::vector<int64_t> values;
    for (const std::string& name : pipeline.routes().inputs)
      values.push_back(static_cast<int64_t>(frame) * 3 + std::stoll(name.substr(1)));
    std::vector<NamedTensor> inputs;
    for (size_t i = 0; i < values.size(); ++i)
      inputs.push_back({pipeline.routes().inputs[i], TensorView{&values[i], DType::i64, Shape{1}}, nullptr});
    EXPECT_TRUE(pipeline.push(inputs).has_value());
  }
  pipeline.finish();
}

void check_frame(const PipelinePlan& plan, const PipelineRoutes& routes, const PoppedFrame& frame) {
  const auto expected = expected_of(plan, frame.id);
  ASSERT_EQ(frame.status.has_value(), expected.has_value());
  if (!expected) return;
  for (size_t i = 0; i < routes.outputs.size(); ++i) {
    const std::string& name = routes.outputs[i].name;
    const size_t dot = name.find('.');
    EXPECT_EQ(*static_cast<int64_t*>(frame.outputs[i].tensor.data),
              (*expected)[std::stoul(name.substr(0, dot))][std::stoul(name.substr(dot + 1))])
        << name;
  }
}

/// Checks that each frame leaves once, in order, with the right values, or was dropped if that is allowed.
void check_frames(const PipelinePlan& plan, PipelineGraph graph, PipelineOptions options) {
  options.depth = plan.depth;
  const bool may_drop = options.queue != QueuePolicy::block || options.deadline_ns > 0;
  auto pipeline = Pipeline::start(graph, std::move(options));
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  constexpr uint64_t frames = 60;
  std::thread pusher([&] { push_frames(**pipeline, frames); });
  uint64_t next = 0, dropped = 0;
  for (PoppedFrame frame = (*pipeline)->pop(); frame.state == PopState::frame; frame = (*pipeline)->pop()) {
    EXPECT_EQ(frame.id, next++);
    const bool is_dropped = !frame.status && frame.status.error().kind == ErrorKind::dropped;
    dropped += is_dropped ? 1 : 0;
    if (!is_dropped) check_frame(plan, (*pipeline)->routes(), frame);
  }
  pusher.join();
  EXPECT_EQ(next, frames);
  EXPECT_TRUE(may_drop || dropped == 0);
  EXPECT_EQ((*pipeline)->frame_statistics().dropped, dropped);
}

TEST(RandomPipelines, GiveWhatTheirStagesGiveInTurn) {
  for (uint32_t seed = 0; seed < 60 * rounds(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    const PipelinePlan plan = random_plan(random);
    check_frames(plan, make_graph(plan), {});
  }
}

TEST(RandomPipelines, QueuesAndDeadlinesThatDropFramesDoNoHarmToOthers) {
  for (uint32_t seed = 0; seed < 60 * rounds(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    const PipelinePlan plan = random_plan(random);
    PipelineGraph graph = make_graph(plan);
    const auto any_policy = [&] { return static_cast<QueuePolicy>(random() % 3); };
    for (PipelineGraph::NamedStage& stage : graph.stages)
      if (random() % 2 == 0) stage.options.queue = any_policy();
    const QueuePolicy rest = random() % 2 == 0 ? QueuePolicy::latest : QueuePolicy::drop_oldest;
    check_frames(plan, std::move(graph), {.queue = rest, .deadline_ns = random() % 2 == 0 ? 0 : 200'000});
  }
}

}  // namespace
}  // namespace intarsia
