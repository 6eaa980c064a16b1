// Files that the user names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Returns the first `most` bytes of a regular file. Never blocks, as opening a pipe would. Throws
/// intarsia::Error.
std::vector<char> read_file(const std::string& path, size_t most = SIZE_MAX);

/// Throws intarsia::Error when `path` may not be written or replaced, or is one of `inputs`.
void check_output(const std::string& path, const std::vector<std::string>& inputs);
/// Writes the pieces one after the other, whole or not at all. Throws intarsia::Error.
void write_file(const std::string& path, const std::vector<std::string_view>& pieces);
