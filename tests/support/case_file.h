// Golden cases: small text files with named sections, so that an input and its result fit on one screen.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace intarsia {

/// Contents of tests/cases/<pass>/<name>.case: a comment, then sections that start with a line "--- name".
/// `given` contains what the pass gets besides the graph, `output` its result; a case named fail_* has
/// instead `error`, a part of the message.
struct CaseFile {
  std::filesystem::path path;
  std::string comment;
  std::map<std::string, std::string> sections;

  std::string pass() const { return path.parent_path().filename().string(); }
  std::string name() const { return path.stem().string(); }
  bool must_fail() const { return name().starts_with("fail_"); }
  std::string section(const std::string& name) const {
    auto at = sections.find(name);
    return at == sections.end() ? "" : at->second;
  }
};

inline CaseFile read_case(const std::filesystem::path& path) {
  CaseFile result{path, {}, {}};
  std::ifstream file(path);
  std::string* text = &result.comment;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("--- "))
      text = &result.sections[line.substr(4)];
    else
      *text += line + "\n";
  }
  return result;
}

inline void write_case(const CaseFile& file) {
  std::ofstream out(file.path);
  out << file.comment;
  for (const char* name : {"given", "input", "output", "error"}) {
    auto at = file.sections.find(name);
    if (at != file.sections.end() && !at->second.empty()) out << "--- " << name << "\n" << at->second;
  }
}

inline std::vector<std::filesystem::path> list_cases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".case") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace intarsia
