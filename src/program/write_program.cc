#include "program/write_program.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/files/output_file.h"
#include "base/flat_buffer.h"
#include "program/string_constant.h"
#include "program/verify_program.h"

namespace intarsia {
namespace {

Status write_pieces(OutputFile& file, const std::vector<std::span<const std::byte>>& pieces, Digest* digest) {
  static constexpr std::array<std::byte, tail_alignment> zeros = {};
  for (std::span<const std::byte> piece : pieces) {
    const std::span<const std::byte> padding(zeros.data(),
                                             round_up(piece.size(), tail_alignment) - piece.size());
    for (std::span<const std::byte> part : {piece, padding}) {
      TRY(file.write(part));
      if (digest != nullptr) digest->add(part);
    }
  }
  return {};
}

}  // namespace

uint64_t Pieces::add(std::span<const std::byte> piece) {
  const uint64_t at = bytes;
  spans.push_back(piece);
  bytes += round_up(piece.size(), tail_alignment);
  return at;
}

ConstantLayout lay_out_constants(fbs::ProgramT& program, std::span<const TensorView> constants) {
  Pieces pieces;
  std::deque<std::string> encoded;
  // Pieces so far, indexed by digest.
  std::unordered_multimap<uint64_t, std::pair<uint64_t, std::span<const std::byte>>> placed;
  program.constants.clear();
  for (const TensorView& constant : constants) {
    std::span<const std::byte> bytes(static_cast<const std::byte*>(constant.data), constant.bytes());
    if (constant.dtype == DType::string) bytes = as_bytes(encoded.emplace_back(encode_strings(constant)));
    auto entry = std::make_unique<fbs::ConstantT>();
    entry->bytes = bytes.size();
    entry->digest = digest_bytes(bytes);
    entry->dtype = static_cast<uint8_t>(constant.dtype);
    entry->dims = constant.shape;
    auto [begin, end] = placed.equal_range(entry->digest);
    auto same = std::find_if(begin, end,
                             [&](const auto& item) { return std::ranges::equal(item.second.second, bytes); });
    if (same != end) {
      entry->offset = same->second.first;
    } else {
      entry->offset = pieces.add(bytes);
      placed.emplace(entry->digest, std::pair(entry->offset, bytes));
    }
    program.constants.push_back(std::move(entry));
  }
  return {std::move(pieces.spans), std::move(encoded), pieces.bytes};
}

Result<uint64_t> write_program(const std::string& path, std::string_view elf, fbs::ProgramT& program,
                               const ConstantLayout& constants, std::span<const std::string> blobs) {
  INTARSIA_CHECK(blobs.size() == program.regions.size());
  program.producer = "intarsia " INTARSIA_VERSION;
  Pieces blob_pieces;
  for (size_t i = 0; i < blobs.size(); ++i) {
    program.regions[i]->blob_offset = constants.bytes + blob_pieces.add(as_bytes(blobs[i]));
    program.regions[i]->blob_bytes = blobs[i].size();
  }
  return write_program(path, elf, std::as_const(program), constants, blob_pieces);
}

Result<uint64_t> write_program(const std::string& path, std::string_view elf, const fbs::ProgramT& program,
                               const ConstantLayout& constants, const Pieces& blobs) {
  const uint64_t data_bytes = constants.bytes + blobs.bytes;
  TRY(with_context(verify_program(program, constants.bytes, data_bytes), "cannot write program '{}'", path));

  const std::string packed = pack_table<fbs::Program>(program);
  Pieces description;
  description.add(as_bytes(packed));

  Footer footer{.elf_bytes = elf.size(),
                .constants_bytes = constants.bytes,
                .blobs_bytes = blobs.bytes,
                .description_bytes = description.bytes};
  constexpr mode_t executable = 0777;  // mode with which linkers write libraries
  OutputFile file = TRY(OutputFile::create(path, executable));
  Digest digest;
  const std::string padding(tail_offset(footer) - elf.size(), '\0');
  for (std::string_view part : {elf, std::string_view(padding)}) {
    TRY(file.write(as_bytes(part)));
    digest.add(as_bytes(part));
  }
  TRY(write_pieces(file, constants.pieces, nullptr));
  TRY(write_pieces(file, blobs.spans, &digest));
  TRY(write_pieces(file, description.spans, &digest));
  const std::span<const std::byte> footer_bytes = std::as_bytes(std::span(&footer, 1));
  digest.add(footer_bytes.first(offsetof(Footer, digest)));
  footer.digest = digest.value();
  TRY(file.write(footer_bytes));
  TRY(file.commit());
  return tail_offset(footer) + data_bytes + description.bytes + sizeof(Footer);
}

}  // namespace intarsia
