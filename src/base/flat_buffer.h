// FlatBuffers data: tables as bytes, and tables in untrusted bytes.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace intarsia {

/// Returns the bytes of a finished buffer.
inline std::string to_bytes(const flatbuffers::FlatBufferBuilder& builder) {
  return std::string(as_text(std::span<const uint8_t>(builder.GetBufferPointer(), builder.GetSize())));
}

inline flatbuffers::Offset<flatbuffers::Vector<uint8_t>> add_bytes(flatbuffers::FlatBufferBuilder& builder,
                                                                   std::string_view bytes) {
  const std::span<const uint8_t> octets = as_octets(bytes);
  return builder.CreateVector(octets.data(), octets.size());
}

/// Returns the bytes of a table given in object form.
template <typename Table>
std::string pack_table(const typename Table::NativeTableType& object) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Table::Pack(builder, &object));
  return to_bytes(builder);
}

/// Returns the bytes of a field that may be absent (then empty).
inline std::string_view text_of(const flatbuffers::Vector<uint8_t>* bytes) {
  return bytes == nullptr ? std::string_view() : as_text(std::span(bytes->data(), bytes->size()));
}
inline std::vector<std::string> to_strings(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) {
  std::vector<std::string> strings;
  for (flatbuffers::uoffset_t i = 0; texts != nullptr && i < texts->size(); ++i)
    strings.push_back(texts->Get(i)->str());
  return strings;
}

/// Limits on a table. Its parts may be shared, so few bytes can unpack into many.
struct TableLimits {
  flatbuffers::uoffset_t depth = 64, tables = 1'000'000;
};

/// Returns the table in place; null if the bytes are damaged or carry another identifier. All offsets in it
/// are checked, but not the alignment of vectors of 8-byte elements.
template <typename Table>
const Table* find_table(std::span<const std::byte> bytes, const char* identifier = nullptr,
                        const TableLimits& limits = {}) {
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) return nullptr;
  const std::span<const uint8_t> octets = as_octets(bytes);
  flatbuffers::Verifier verifier(octets.data(), octets.size(), limits.depth, limits.tables);
  return verifier.VerifyBuffer<Table>(identifier) ? flatbuffers::GetRoot<Table>(octets.data()) : nullptr;
}

/// Table in its own copy of bytes that may be unaligned.
template <typename Table>
class TableCopy {
 public:
  explicit TableCopy(std::span<const std::byte> bytes, const char* identifier = nullptr,
                     const TableLimits& limits = {})
      : bytes_(bytes.begin(), bytes.end()), table_(find_table<Table>(bytes_, identifier, limits)) {}
  TableCopy(const TableCopy&) = delete;
  TableCopy& operator=(const TableCopy&) = delete;

  explicit operator bool() const { return table_ != nullptr; }
  const Table& operator*() const { return *table_; }
  const Table* operator->() const { return table_; }

 private:
  std::vector<std::byte> bytes_;
  const Table* table_;
};

}  // namespace intarsia
