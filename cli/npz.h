// NumPy's .npz files: ZIP archives with one .npy file for each array.
#pragma once

#include <string>
#include <vector>

/// By its first bytes or its name. Throws intarsia::Error if the file cannot be read.
bool is_npz(const std::string& path);

/// Names of the arrays, without ".npy". Throws intarsia::Error for what is not a well-formed archive.
std::vector<std::string> list_npz(const std::string& path);

/// The bytes of an array's .npy file, checked by its checksum. Throws intarsia::Error.
std::vector<char> read_npz_member(const std::string& path, const std::string& name);
