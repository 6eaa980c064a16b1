// intarsia run --pipeline
#pragma once

#include <string>
#include <vector>

#include "cli/inputs/given_shapes.h"
#include "cli/inputs/inputs.h"

struct RunPipelineOptions {
  std::string file;             // pipeline file; empty: `program` is run
  std::string program;          // program whose stages are run
  std::string given, function;  // user's name of the program, and its function
  std::string folder, trace, html;
  InputOptions inputs;
  std::vector<GivenShape> shapes;  // shapes of inputs without a file
  int frames = 0;                  // frames to run; 0: as many as the inputs have, or one
  double rate = 0;                 // frames pushed per second; 0: as fast as they are taken
  bool json = false;
  bool is_quiet = false;  // print only outputs that are not in files
};

void run_pipeline(const RunPipelineOptions& options);
