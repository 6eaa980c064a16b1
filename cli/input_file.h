// One input's value from a file, whatever its format.
#pragma once

#include <intarsia/intarsia.hpp>
#include <string>
#include <vector>

#include "npy.h"
#include "npz.h"
#include "picture_tensor.h"

/// Where a value is.
struct InputSource {
  std::string file;
  std::string member;  // of a .npz; empty: the array of the input's name, or the only one
};

/// ".npy", ...: how the names of files end that read_input takes.
const std::vector<std::string>& input_suffixes();
/// By its name; whether letters are capital does not matter.
bool may_be_input(const std::string& file);

/// "FILE", "FILE.npz:MEMBER"
InputSource parse_source(const std::string& text);

/// The value for `input`; its type and shape decide what raw bytes and pictures become. `conversion` becomes
/// what was done to a picture. Throws intarsia::Error with the file's name.
Array read_input(const InputSource& source, const intarsia::Argument& input, const PictureOptions& options,
                 std::string& conversion);
