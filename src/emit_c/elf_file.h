// Relocatable objects in the Executable and Linkable Format (System V ABI, chapter 4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/architecture.h"
#include "base/result.h"

namespace intarsia {

/// What an object brings to a program, in bytes.
struct ObjectContents {
  std::vector<std::string> symbols;  // global symbols that it defines
  uint64_t code_bytes = 0;
  uint64_t data_bytes = 0;      // read-only data
  uint64_t writable_bytes = 0;  // data that runs could write
};

/// Reads what an object for little-endian machines brings. Error: it is not one, or is damaged.
Result<ObjectContents> read_object(std::string_view object);

/// Writes the bytes of an object with one read-only tensor of bytes, aligned to 64, under a global symbol; the
/// bytes themselves come between the two parts.
struct DataObject {
  std::string before, after;
};
DataObject make_data_object(Arch arch, const std::string& symbol, uint64_t bytes);

}  // namespace intarsia
