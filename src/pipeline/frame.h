// Frames, which a pipeline carries from push to pop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "runtime/trace_event.h"

namespace intarsia {

/// Input of a pipeline or output of a stage, for one frame.
struct FrameValue {
  TensorView tensor;
  std::shared_ptr<void> owner;
};

/// Options that the caller gives with a frame.
struct FrameOptions {
  int64_t deadline_ns = 0;  // time from its push after which stages drop it; 0: the pipeline's
  int64_t timestamp = 0;    // value that comes back with the frame
  void* user = nullptr;     // pointer that comes back with the frame
};

/// Runs of one stage for one frame: one run, or one for each item.
struct StageRuns {
  uint32_t count = 1, left = 1;  // valid once the frame reached the stage; left: runs that have not ended
  uint32_t items = 0;            // items that the stage gave, if it scatters
  bool has_run = false, has_failed = false;
};

/// Frame inside a pipeline. Stages that run it at the same time read values that exist; each writes its own
/// outputs, and each run of a stage its own items of them. The last reader of a value frees it. Everything
/// else belongs to the pipeline, under its lock.
struct Frame {
  uint64_t id = 0;
  std::vector<std::vector<FrameValue>> values;  // indexed by value: one tensor, or one for each item
  std::vector<StageRuns> runs;                  // indexed by stage
  std::vector<uint32_t> waits;         // producers still to come, by stage; last entry: the pipeline's end
  std::vector<uint32_t> readers_left;  // indexed by value; counted by std::atomic_ref
  Status status;                       // first error; stages that come after it do not run
  bool is_timed_out = false;           // whether its caller was told of a timeout
  int64_t pushed_ns = 0, done_ns = 0;  // times of a steady clock
  int64_t deadline_ns = 0;             // end of the timeout; 0: none
  int64_t due_ns = 0;                  // time after which no stage starts on the frame; 0: none
  FrameOptions given;

  /// Checks whether the frame needs no further work.
  bool is_given_up() const { return !status || is_timed_out; }
};

/// Work of a stage on a frame.
struct FrameEvent {
  uint64_t frame = 0;
  uint32_t stage = 0, replica = 0;
  int64_t begin_ns = 0, end_ns = 0;  // times of a steady clock
  const TraceEvent* step = nullptr;  // step within that work, at that time; null: the work as a whole
};

}  // namespace intarsia
