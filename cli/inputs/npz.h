// NumPy's .npz files: ZIP archives with one .npy file for each array.
#pragma once

#include <string>
#include <vector>

/// Checks by the first bytes or the name whether the file is a .npz. Throws intarsia::Error if it cannot be
/// read.
bool is_npz(const std::string& path);

/// Returns the names of the arrays, without ".npy". Throws intarsia::Error unless the file is a well-formed
/// archive.
std::vector<std::string> list_npz(const std::string& path);

/// Returns the bytes of an array's .npy file, verified by its checksum. Throws intarsia::Error.
std::vector<char> read_npz_member(const std::string& path, const std::string& name);
