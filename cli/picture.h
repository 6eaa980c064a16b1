// PNG and JPEG files.
#pragma once

#include <string>
#include <vector>

struct Picture {
  int width = 0, height = 0, channels = 0;
  std::vector<unsigned char> pixels;  // row by row, channels together
  const char* format = "";            // "PNG"
};

/// By its first bytes or its name. Throws intarsia::Error if the file cannot be read.
bool is_picture(const std::string& path);

/// As gray (1 channel), RGB (3) or RGBA (4), whatever the file has. Throws intarsia::Error.
Picture read_picture(const std::string& path, int channels);

/// Linear, averaging where it becomes smaller.
Picture resize_picture(const Picture& picture, int width, int height);
