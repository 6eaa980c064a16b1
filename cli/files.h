// Files that the user names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The first `most` bytes of a regular file. Never waits, as opening a pipe would. Throws intarsia::Error.
std::vector<char> read_file(const std::string& path, size_t most = SIZE_MAX);
