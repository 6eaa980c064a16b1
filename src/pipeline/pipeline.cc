#include "pipeline/pipeline.h"

#include <thread>

#include "base/clock.h"
#include "pipeline/pipeline_state.h"

namespace intarsia {

struct PipelineWorker {
  uint32_t stage = 0, replica = 0;
  std::thread thread;
};

namespace {

Status check_process(const PipelineState& state) {
  if (!state.is_of_parent()) return {};
  return fail("the pipeline belongs to the process that this one was forked from; make one here");
}

/// Returns the time of the steady clock at which a wait ends; INT64_MAX if it never does.
int64_t end_of_wait(int64_t wait_ns) {
  const int64_t now = clock_nanoseconds();
  return wait_ns < 0 || wait_ns > INT64_MAX - now ? INT64_MAX : now + wait_ns;
}

}  // namespace

Pipeline::Pipeline(std::shared_ptr<PipelineState> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Pipeline>> Pipeline::start(PipelineGraph& graph, PipelineOptions options) {
  if (options.depth == 0) return fail("a queue of depth 0 holds no frame; want at least 1");
  if (options.timeout_ns < 0)
    return fail("a frame's time-out of {} ns, want 0 (none) or more", options.timeout_ns);
  if (options.deadline_ns < 0) return fail("a deadline of {} ns, want 0 (none) or more", options.deadline_ns);
  PipelineRoutes routes = TRY(find_routes(graph));
  std::unique_ptr<Pipeline> pipeline(new Pipeline(
      std::make_shared<PipelineState>(std::move(graph.stages), std::move(routes), std::move(options))));
  const std::shared_ptr<PipelineState>& state = pipeline->state_;
  for (uint32_t stage = 0; stage < state->stages().size(); ++stage)
    for (uint32_t replica = 0; replica < state->stages()[stage].replicas.size(); ++replica)
      pipeline->workers_.push_back(
          {stage, replica, std::thread([state, stage, replica] { state->work(stage, replica); })});
  return pipeline;
}

Pipeline::~Pipeline() {
  if (state_->is_of_parent()) {
    for (PipelineWorker& worker : workers_) worker.thread.detach();
    new std::shared_ptr<PipelineState>(std::move(state_));  // leaked: its locks may be held
    return;
  }
  state_->cancel();
  for (PipelineWorker& worker : workers_) {
    if (state_->is_running(worker.stage, worker.replica))
      worker.thread.detach();
    else
      worker.thread.join();
  }
}

const PipelineRoutes& Pipeline::routes() const { return state_->routes(); }

Result<std::optional<uint64_t>> Pipeline::push(std::span<const NamedTensor> inputs, int64_t wait_ns,
                                               const FrameOptions& options) {
  TRY(check_process(*state_));
  if (options.deadline_ns < 0)
    return fail("the frame's deadline is {} ns, want 0 (the pipeline's) or more", options.deadline_ns);
  const int64_t until = end_of_wait(wait_ns);
  if (!TRY(state_->wait_for_room(until))) return std::nullopt;
  const FramePtr frame = TRY(state_->make_frame(inputs));
  frame->given = options;
  return TRY(state_->insert(frame, until)) ? std::optional(frame->id) : std::nullopt;
}

PoppedFrame Pipeline::pop(int64_t wait_ns) {
  return state_->is_of_parent() ? PoppedFrame{PopState::ended} : state_->pop(end_of_wait(wait_ns));
}

void Pipeline::finish() {
  if (!state_->is_of_parent()) state_->finish();
}

void Pipeline::cancel() {
  if (!state_->is_of_parent()) state_->cancel();
}

std::vector<StageStatistics> Pipeline::statistics() const {
  return state_->is_of_parent() ? std::vector<StageStatistics>{} : state_->statistics();
}

std::vector<ReplicaStatistics> Pipeline::replicas(size_t stage) const {
  return state_->is_of_parent() ? std::vector<ReplicaStatistics>{} : state_->replicas(stage);
}

FrameStatistics Pipeline::frame_statistics() const {
  return state_->is_of_parent() ? FrameStatistics{} : state_->frame_statistics();
}

}  // namespace intarsia
