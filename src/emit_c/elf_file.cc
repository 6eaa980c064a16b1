#include "emit_c/elf_file.h"

#include <elf.h>

#include <cstring>
#include <optional>

#include "base/elf_machine.h"

namespace intarsia {
namespace {

/// Structures of objects for 32 and for 64 bits.
struct Elf32 {
  using Header = Elf32_Ehdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
  static constexpr uint8_t elf_class = ELFCLASS32;
};
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
  static constexpr uint8_t elf_class = ELFCLASS64;
};

tl::unexpected<Error> damaged_object() { return fail("an object with code is damaged"); }

/// Reads one of the structures of a file; nullopt beyond its end.
template <typename T>
std::optional<T> read_at(std::string_view file, uint64_t offset) {
  if (offset > file.size() || sizeof(T) > file.size() - offset) return std::nullopt;
  T read;
  std::memcpy(&read, file.data() + offset, sizeof read);
  return read;
}

/// Returns the text at an offset of a table of strings, which ends with a zero byte.
std::optional<std::string> read_name(std::string_view file, uint64_t table, uint64_t bytes, uint64_t offset) {
  if (table > file.size() || bytes > file.size() - table || offset >= bytes) return std::nullopt;
  const std::string_view strings = file.substr(table, bytes);
  const size_t end = strings.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(strings.substr(offset, end - offset));
}

template <typename Elf>
Status add_symbols(std::string_view file, const typename Elf::Section& table,
                   const typename Elf::Section& names, ObjectContents& contents) {
  for (uint64_t at = 0; at + sizeof(typename Elf::Symbol) <= table.sh_size;
       at += sizeof(typename Elf::Symbol)) {
    const auto symbol = read_at<typename Elf::Symbol>(file, table.sh_offset + at);
    if (!symbol) return damaged_object();
    const int binding = symbol->st_info >> 4;
    if (symbol->st_shndx == SHN_UNDEF || (binding != STB_GLOBAL && binding != STB_WEAK)) continue;
    const auto name = read_name(file, names.sh_offset, names.sh_size, symbol->st_name);
    if (!name) return damaged_object();
    contents.symbols.push_back(*name);
  }
  return {};
}

template <typename Elf>
Result<ObjectContents> read_sections(std::string_view file) {
  using Section = typename Elf::Section;
  const auto header = read_at<typename Elf::Header>(file, 0);
  if (!header || header->e_shentsize != sizeof(Section)) return damaged_object();
  const auto section = [&](uint64_t number) {
    return number < header->e_shnum ? read_at<Section>(file, header->e_shoff + number * sizeof(Section))
                                    : std::nullopt;
  };
  ObjectContents contents;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto one = section(i);
    if (!one) return damaged_object();
    if (one->sh_type == SHT_SYMTAB) {
      const auto names = section(one->sh_link);
      if (!names) return damaged_object();
      TRY(add_symbols<Elf>(file, *one, *names, contents));
    }
    if ((one->sh_flags & SHF_ALLOC) == 0) continue;
    uint64_t& bytes = (one->sh_flags & SHF_EXECINSTR) != 0 ? contents.code_bytes
                      : (one->sh_flags & SHF_WRITE) != 0   ? contents.writable_bytes
                                                           : contents.data_bytes;
    bytes += one->sh_size;
  }
  return contents;
}

template <typename T>
void append(std::string& file, const T& part) {
  file.append(reinterpret_cast<const char*>(&part), sizeof part);
}

size_t padding_to(uint64_t alignment, uint64_t place) { return (alignment - place % alignment) % alignment; }

template <typename Elf>
DataObject write_sections(const ElfMachine& machine, const std::string& symbol, uint64_t bytes) {
  using Section = typename Elf::Section;
  enum : uint16_t { none, data, symbols, strings, note, sections };
  constexpr size_t data_offset = 64;  // the header's end, and the alignment of the data
  const std::string names = std::string("\0.rodata\0.symtab\0.strtab\0.note.GNU-stack\0", 41) + symbol + '\0';
  const uint64_t data_end = data_offset + bytes;
  std::string after(padding_to(8, data_end), '\0');
  const auto place = [&] { return data_end + after.size(); };
  const auto place_of_symbols = place();
  append(after, typename Elf::Symbol{});
  typename Elf::Symbol defined{};
  defined.st_name = 41;
  defined.st_info = (STB_GLOBAL << 4) | STT_OBJECT;
  defined.st_shndx = data;
  defined.st_size = static_cast<decltype(defined.st_size)>(bytes);
  append(after, defined);
  const auto place_of_strings = place();
  after += names;
  after.resize(after.size() + padding_to(8, place()));
  const auto place_of_sections = place();
  const auto section = [](uint32_t name, uint32_t type, uint64_t flags, uint64_t offset, uint64_t size,
                          uint32_t link, uint32_t info, uint64_t alignment, uint64_t entry) {
    Section made{};
    made.sh_name = name, made.sh_type = type, made.sh_link = link, made.sh_info = info;
    made.sh_flags = static_cast<decltype(made.sh_flags)>(flags);
    made.sh_offset = static_cast<decltype(made.sh_offset)>(offset);
    made.sh_size = static_cast<decltype(made.sh_size)>(size);
    made.sh_addralign = static_cast<decltype(made.sh_addralign)>(alignment);
    made.sh_entsize = static_cast<decltype(made.sh_entsize)>(entry);
    return made;
  };
  append(after, Section{});
  append(after, section(1, SHT_PROGBITS, SHF_ALLOC, data_offset, bytes, 0, 0, 64, 0));
  append(after,
         section(9, SHT_SYMTAB, 0, place_of_symbols, 2 * sizeof(defined), strings, 1, 8, sizeof(defined)));
  append(after, section(17, SHT_STRTAB, 0, place_of_strings, names.size(), 0, 0, 1, 0));
  append(after, section(25, SHT_PROGBITS, 0, place_of_strings, 0, 0, 0, 1, 0));
  typename Elf::Header header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = Elf::elf_class;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine.number;
  header.e_version = EV_CURRENT;
  header.e_shoff = static_cast<decltype(header.e_shoff)>(place_of_sections);
  header.e_flags = machine.calls;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Section);
  header.e_shnum = sections;
  header.e_shstrndx = strings;
  std::string before;
  append(before, header);
  before.resize(data_offset);
  return {std::move(before), std::move(after)};
}

}  // namespace

Result<ObjectContents> read_object(std::string_view object) {
  if (!object.starts_with(ELFMAG) || object.size() <= EI_DATA ||
      static_cast<uint8_t>(object[EI_DATA]) != ELFDATA2LSB)
    return damaged_object();
  return object[EI_CLASS] == ELFCLASS32 ? read_sections<Elf32>(object) : read_sections<Elf64>(object);
}

DataObject make_data_object(Arch arch, const std::string& symbol, uint64_t bytes) {
  return pointer_bytes(arch) == 4 ? write_sections<Elf32>(elf_machine(arch), symbol, bytes)
                                  : write_sections<Elf64>(elf_machine(arch), symbol, bytes);
}

}  // namespace intarsia
