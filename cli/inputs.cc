#include "inputs.h"

#include "commands.h"

std::map<std::string, std::string> parse_input_files(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> files;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      throw UsageError("-i " + text + ": want NAME=FILE.npy");
    if (!files.emplace(text.substr(0, at), text.substr(at + 1)).second)
      throw UsageError("-i " + text + ": input '" + text.substr(0, at) + "' is given twice");
  }
  return files;
}

std::string FileNames::make(const std::string& name) {
  constexpr size_t most = 150;  // leaves room for an ending within 255, the limit of common file systems
  std::string safe = name.substr(0, most);
  for (char& c : safe) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  if (safe.empty() || safe[0] == '.') safe = "_" + safe;
  const int times = ++used_[safe];
  return times == 1 ? safe : make(safe + "_" + std::to_string(times));
}
