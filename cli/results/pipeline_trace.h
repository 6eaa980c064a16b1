// Record of what the stages of a pipeline did with its frames, and when.
#pragma once

#include <intarsia/intarsia_pipeline.h>

#include <string>
#include <vector>

#include "cli/results/trace_file.h"

/// Returns the name of a replica, counted from 0: "backbone", "backbone #2" for the second.
std::string row_name(const std::string& stage, uint32_t replica);

/// Time that one frame spent in one stage.
struct StageSlice {
  std::string row;
  uint64_t frame = 0;
  int64_t begin_ns = 0, end_ns = 0;  // times of a steady clock
};

/// Trace of a pipeline; must outlive the pipeline's end.
class PipelineTrace {
 public:
  /// Callback for intarsia_pipeline_options, with this object as `user`, with or without traces_steps.
  static void record(void* user, const intarsia_frame_event* event);

  /// Returns the slices in the order in which they ended; to be read once the pipeline has ended.
  const std::vector<StageSlice>& slices() const { return slices_; }
  /// Writes for each stage and replica a row with its frames, and below it a row for each device with what
  /// its session did there; arrows follow each frame from stage to stage. Throws intarsia::Error.
  void write(const std::string& path) const;

 private:
  std::vector<StageSlice> slices_;
  std::vector<TraceSlice> steps_;
};
