#include "emit_c/write_constants.h"

#include <fmt/format.h>

#include <array>
#include <boost/crc.hpp>
#include <cstring>

#include "base/files/output_file.h"
#include "emit_c/elf_file.h"
#include "program/program.h"

namespace intarsia {
namespace {

std::span<const std::byte> as_bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// Returns all bytes of the constants in pieces, padding included.
std::vector<std::span<const std::byte>> all_pieces(const ConstantLayout& constants) {
  static constexpr std::array<std::byte, tail_alignment> zeros{};
  std::vector<std::span<const std::byte>> pieces;
  for (const std::span<const std::byte> piece : constants.pieces) {
    pieces.push_back(piece);
    const size_t padding = round_up(piece.size(), tail_alignment) - piece.size();
    if (padding > 0) pieces.push_back(std::span(zeros).first(padding));
  }
  return pieces;
}

Status write_pieces(const ConstantLayout& constants, OutputFile& file) {
  for (const std::span<const std::byte> piece : all_pieces(constants)) TRY(file.write(piece));
  return {};
}

Status write_object(const ConstantLayout& constants, const std::string& name, Arch arch, OutputFile& file) {
  const DataObject object = make_data_object(arch, name + "_constants", constants.bytes);
  TRY(file.write(as_bytes_of(object.before)));
  TRY(write_pieces(constants, file));
  return file.write(as_bytes_of(object.after));
}

void append_number(std::string& bytes, uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> 8 * i & 0xff);
}

/// Returns the first bytes of a file of constants.
std::string header_of(const ConstantLayout& constants, const std::string& digest) {
  boost::crc_32_type sum;
  for (const std::span<const std::byte> piece : all_pieces(constants))
    sum.process_bytes(piece.data(), piece.size());
  std::string header;
  for (size_t i = 0; i < 32; i += 2)
    header += static_cast<char>(std::stoi(digest.substr(i, 2), nullptr, 16));
  append_number(header, constants.bytes, 8);
  append_number(header, sum.checksum(), 4);
  header.resize(constants_file_header);
  return header;
}

Status write_source(const ConstantLayout& constants, const std::string& name, OutputFile& file) {
  const std::string begin = fmt::format(
      "/* Weights of {0}.h. */\n#include <stdint.h>\n\nextern const uint32_t {0}_constants[];\n"
      "_Alignas(64) const uint32_t {0}_constants[{1}] = {{\n",
      name, std::max<uint64_t>(constants.bytes / 4, 1));
  TRY(file.write(as_bytes_of(begin)));
  for (const std::span<const std::byte> piece : all_pieces(constants))
    if (!piece.empty()) TRY(file.write(as_bytes_of(write_words(piece) + ",\n")));
  return file.write(as_bytes_of(constants.bytes == 0 ? "0};\n" : "};\n"));
}

}  // namespace

std::string constants_file_name(ConstantsAs form, const std::string& name) {
  switch (form) {
    case ConstantsAs::object:
      return name + "_constants.o";
    case ConstantsAs::file:
      return name + ".bin";
    case ConstantsAs::array:
      break;
  }
  return name + "_constants.c";
}

std::string write_words(std::span<const std::byte> bytes) {
  constexpr size_t on_a_line = 10;
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(4, bytes.size() - at));
    if (at > 0) text += at / 4 % on_a_line == 0 ? ",\n" : ", ";
    text += fmt::format("0x{:x}", word);
  }
  return text;
}

Status write_constants(const ConstantLayout& constants, ConstantsAs form, const std::string& name, Arch arch,
                       const std::string& digest, const std::string& folder) {
  OutputFile file = TRY(OutputFile::create(folder + "/" + constants_file_name(form, name)));
  if (form == ConstantsAs::object) TRY(write_object(constants, name, arch, file));
  if (form == ConstantsAs::array) TRY(write_source(constants, name, file));
  if (form == ConstantsAs::file) {
    TRY(file.write(as_bytes_of(header_of(constants, digest))));
    TRY(write_pieces(constants, file));
  }
  return file.commit();
}

}  // namespace intarsia
