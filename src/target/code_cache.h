// Cache of generated code in an SQLite file that processes share, so that the second compile of a kernel only
// reads. Problems with the file cost time and nothing else, so they are not reported.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "target/shared_database.h"

namespace intarsia {

class CodeCache {
 public:
  /// Opens `folder`/code.sqlite as SharedDatabase does. Above `max_bytes`, a quarter of its rows is dropped,
  /// those first that were not used for longest.
  explicit CodeCache(const std::string& folder, uint64_t max_bytes = uint64_t{1} << 29);

  /// Finds the bytes of those keys that have a row, without damaged ones. `version` identifies the generator
  /// of the code and all that the keys do not tell.
  std::map<std::string, std::string> find(std::span<const std::string> keys, const std::string& version);
  /// Adds (key, bytes) pairs; replaces existing ones.
  void add(std::span<const std::pair<std::string, std::string>> rows, const std::string& version);

 private:
  uint64_t size() const;
  void drop_oldest();

  SharedDatabase file_;
  uint64_t max_bytes_;
};

}  // namespace intarsia
