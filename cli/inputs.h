// Inputs of run and check.
#pragma once

#include <intarsia/intarsia.hpp>
#include <map>
#include <string>
#include <vector>

/// "NAME=FILE.npy" -> (name, file), split at the last equals sign. Throws UsageError for other text and for a
/// name given twice.
std::map<std::string, std::string> parse_input_files(const std::vector<std::string>& texts);

/// "a/b:0" -> "a_b_0": what any file system takes; not twice the same from one object.
class FileNames {
 public:
  std::string make(const std::string& name);

 private:
  std::map<std::string, int> used_;
};
