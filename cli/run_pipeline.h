// intarsia run --pipeline
#pragma once

#include <string>

#include "inputs.h"

struct RunPipelineOptions {
  std::string file;             // of a pipeline; empty: the stages of
  std::string program;          // this,
  std::string given, function;  // which the user knows by this name
  std::string folder, trace, html;
  InputOptions inputs;
  int frames = 0;  // 0: one
  bool json = false;
  bool is_quiet = false;  // only outputs that are not in files
};

void run_pipeline(const RunPipelineOptions& options);
