// PNG and JPEG files.
#pragma once

#include <string>
#include <vector>

struct Picture {
  int width = 0, height = 0, channels = 0;
  std::vector<unsigned char> pixels;  // row by row, channels together
  const char* format = "";            // "PNG" or "JPEG"
};

/// Checks by the first bytes or the name whether the file is a picture. Throws intarsia::Error if it cannot
/// be read.
bool is_picture(const std::string& path);

/// Reads a picture as gray (1 channel), RGB (3) or RGBA (4), whatever the file has. Throws intarsia::Error.
Picture read_picture(const std::string& path, int channels);

/// Resizes linearly, averaging where the picture becomes smaller.
Picture resize_picture(const Picture& picture, int width, int height);
