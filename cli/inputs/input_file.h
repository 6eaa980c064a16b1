// Value of one input from a file, whatever its format.
#pragma once

#include <intarsia/intarsia.hpp>
#include <string>
#include <vector>

#include "cli/inputs/npy.h"
#include "cli/inputs/npz.h"
#include "cli/inputs/picture_tensor.h"

/// Location of a value.
struct InputSource {
  std::string file;
  std::string member;  // array of a .npz; empty: the one of the input's name, or the only one
};

/// Returns the endings of file names that read_input takes: ".npy", ...
const std::vector<std::string>& input_suffixes();
/// Checks the file's name, regardless of case.
bool may_be_input(const std::string& file);

/// Parses "FILE" or "FILE.npz:MEMBER".
InputSource parse_source(const std::string& text);

/// Returns the value for `input`; its type and shape decide what raw bytes and pictures become. `conversion`
/// becomes a description of what was done to a picture. Throws intarsia::Error with the file's name.
Array read_input(const InputSource& source, const intarsia::Argument& input, const PictureOptions& options,
                 std::string& conversion);
