// What a pipeline carries from its push to its pop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "runtime/trace_event.h"

namespace intarsia {

/// An input of a pipeline or an output of a stage, for one frame.
struct FrameValue {
  TensorView tensor;
  std::shared_ptr<void> owner;
};

/// Stages that run it at the same time read values that are there, and each writes its own outputs; the last
/// reader of a value frees it. All else is the pipeline's, under its lock.
struct Frame {
  uint64_t id = 0;
  std::vector<FrameValue> values;
  std::vector<uint32_t> waits;         // of each stage, and at last of the pipeline's end: producers to come
  std::vector<uint32_t> readers_left;  // of each value; counted by std::atomic_ref
  Status status;                       // the first error; stages that come after it do not run
  bool is_timed_out = false;           // and its caller told so
  int64_t pushed_ns = 0, done_ns = 0;  // of a steady clock
  int64_t deadline_ns = 0;             // 0: none
};

/// What a stage did with a frame.
struct FrameEvent {
  uint64_t frame = 0;
  uint32_t stage = 0, replica = 0;
  int64_t begin_ns = 0, end_ns = 0;  // of a steady clock
  const TraceEvent* step = nullptr;  // what it did within it, at that time; null: all of it
};

}  // namespace intarsia
