// intarsia run --pipeline
#pragma once

#include <string>
#include <vector>

struct RunPipelineOptions {
  std::string file;               // of a pipeline; empty: the stages of
  std::string program, function;  // this
  std::string folder, trace, html;
  std::vector<std::string> inputs;
  int frames = 0;  // 0: one
  bool json = false;
};

void run_pipeline(const RunPipelineOptions& options);
