#include <algorithm>
#include <unordered_map>

#include "base/digest.h"
#include "program/read_program.h"
#include "program/write_program.h"

namespace intarsia {
namespace {

/// Blobs and code of all variants, equal bytes once.
class BlobStore {
 public:
  uint64_t add(std::span<const std::byte> bytes) {
    const auto [begin, end] = placed_.equal_range(digest_bytes(bytes));
    const auto same = std::find_if(
        begin, end, [&](const auto& one) { return std::ranges::equal(one.second.second, bytes); });
    if (same != end) return same->second.first;
    const uint64_t at = pieces_.add(bytes);
    placed_.emplace(digest_bytes(bytes), std::pair(at, bytes));
    return at;
  }

  const Pieces& pieces() const { return pieces_; }

 private:
  Pieces pieces_;
  std::unordered_multimap<uint64_t, std::pair<uint64_t, std::span<const std::byte>>> placed_;
};

/// Gives each program the places of its constants in one layout.
ConstantLayout lay_out_all(std::vector<MappedProgram>& programs) {
  std::vector<TensorView> constants;
  for (const MappedProgram& program : programs)
    for (const Tensor& constant : program.constants) constants.push_back(constant.view());
  fbs::ProgramT all;
  ConstantLayout layout = lay_out_constants(all, constants);
  auto next = all.constants.begin();
  for (MappedProgram& program : programs)
    for (auto& constant : program.description.constants) constant = std::move(*next++);
  return layout;
}

}  // namespace

Status join_programs(std::span<const std::string> paths, const std::string& joined) {
  std::vector<MappedProgram> programs;
  for (const std::string& path : paths) programs.push_back(TRY(read_program(path)));
  const ConstantLayout constants = lay_out_all(programs);
  BlobStore store;
  for (MappedProgram& program : programs) {
    for (size_t i = 0; i < program.blobs.size(); ++i)
      program.description.regions[i]->blob_offset = constants.bytes + store.add(program.blobs[i]);
    if (&program == programs.data()) continue;
    program.description.elf_offset = constants.bytes + store.add(program.elf);
    program.description.elf_bytes = program.elf.size();
  }
  fbs::ProgramT& first = programs[0].description;
  if (programs.size() > 1) first.needs.emplace_back(cpus_feature);
  for (MappedProgram& program : std::span(programs).subspan(1))
    first.variants.push_back(std::make_unique<fbs::ProgramT>(std::move(program.description)));
  const std::string_view elf(reinterpret_cast<const char*>(programs[0].elf.data()), programs[0].elf.size());
  TRY(write_program(joined, elf, first, constants, store.pieces()));
  return {};
}

}  // namespace intarsia
