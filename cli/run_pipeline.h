// intarsia run --pipeline
#pragma once

#include <string>
#include <vector>

struct RunPipelineOptions {
  std::string file, folder, trace;
  std::vector<std::string> inputs;
  int frames = 0;  // 0: one
  bool json = false;
};

void run_pipeline(const RunPipelineOptions& options);
