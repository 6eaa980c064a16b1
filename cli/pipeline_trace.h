// A trace of a pipeline as a file that ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <intarsia/intarsia_pipeline.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "print.h"

/// A row per stage and replica; arrows follow each frame from stage to stage. Outlives its pipeline's end.
class PipelineTrace {
 public:
  /// For intarsia_pipeline_options, with this as `user`.
  static void record(void* user, const intarsia_frame_event* event);

  /// The JSON of the Trace Event Format, once the pipeline has ended. Throws intarsia::Error.
  void write(const std::string& path) const;

 private:
  int row(const std::string& stage, uint32_t replica);

  std::map<std::pair<std::string, uint32_t>, int> rows_;
  std::set<uint64_t> begun_;  // frames
  Json events_ = Json::array();
};
