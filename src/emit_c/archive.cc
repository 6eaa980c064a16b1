#include "emit_c/archive.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "emit_c/elf_file.h"

namespace intarsia {
namespace {

/// Header of a member: name, date, owner, group, mode and size as text (System V ABI, chapter 7).
std::string header_of(const std::string& name, size_t bytes) {
  return fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 644, bytes);
}

void append_number(std::string& text, uint64_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
}

/// Members begin at even bytes.
void append_member(std::string& archive, const std::string& name, std::string_view bytes) {
  archive += header_of(name, bytes.size());
  archive += bytes;
  if (archive.size() % 2 != 0) archive += '\n';
}

}  // namespace

Result<std::string> make_archive(std::span<const ArchiveMember> members) {
  std::vector<std::pair<std::string, size_t>> symbols;  // and the number of the member
  std::string long_names;
  std::vector<std::string> names;
  for (size_t i = 0; i < members.size(); ++i) {
    for (std::string& symbol : TRY(read_object(members[i].object)).symbols)
      symbols.emplace_back(std::move(symbol), i);
    names.push_back(fmt::format("/{}", long_names.size()));
    long_names += members[i].name + "/\n";
  }
  std::string bodies;
  append_member(bodies, "//", long_names);
  std::vector<uint64_t> offsets;
  for (size_t i = 0; i < members.size(); ++i) {
    offsets.push_back(bodies.size());
    append_member(bodies, names[i], members[i].object);
  }
  std::string texts;
  for (const auto& [symbol, member] : symbols) texts += symbol + '\0';
  const std::string magic = "!<arch>\n";
  const size_t index_bytes = 4 + 4 * symbols.size() + texts.size();
  const size_t begin = magic.size() + header_of("/", 0).size() + index_bytes + index_bytes % 2;
  std::string index;
  append_number(index, symbols.size());
  for (const auto& [symbol, member] : symbols) append_number(index, begin + offsets[member]);
  index += texts;
  std::string archive = magic;
  append_member(archive, "/", index);
  return archive + bodies;
}

}  // namespace intarsia
