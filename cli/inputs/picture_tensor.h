// A picture as the input of a model.
#pragma once

#include <CLI/CLI.hpp>
#include <intarsia/intarsia.hpp>
#include <string>
#include <vector>

#include "cli/inputs/npy.h"
#include "cli/inputs/picture.h"

struct PictureOptions {
  bool resize = false;
  std::vector<double> mean, scale;  // a single number, or one per channel; empty: 0 and 1
};

/// Adds `--resize`, `--mean` and `--scale`. `options` must outlive the command.
void add_picture_options(CLI::App& command, PictureOptions& options);

/// Returns the pixels as (pixel - mean) / scale in the layout of `input`: [N,H,W,C], [N,C,H,W], the same
/// without N, or [H,W], with 1, 3 or 4 channels. `conversion` becomes
///   "JPEG 640x480, resized to 224x224, RGB, channels last, (pixel - 127.5) / 127.5"
/// Throws intarsia::Error for an input of another layout, or of another size without `resize`.
Array read_picture_tensor(const std::string& path, const intarsia::Argument& input,
                          const PictureOptions& options, std::string& conversion);
