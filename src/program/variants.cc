#include "program/variants.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "program/verify_machine.h"

namespace intarsia {
namespace {

std::vector<const fbs::ProgramT*> all_variants(const fbs::ProgramT& program) {
  std::vector<const fbs::ProgramT*> all{&program};
  for (const auto& variant : program.variants) all.push_back(variant.get());
  return all;
}

std::string why_not_here(const fbs::ProgramT& variant) {
  const Result<std::vector<std::string>> missing = missing_features(variant);
  if (!missing) return missing.error().message;
  return missing->empty() ? "" : fmt::format("this CPU lacks {}", fmt::join(*missing, ", "));
}

size_t number_of_taken(const fbs::ProgramT& program) {
  const std::vector<const fbs::ProgramT*> all = all_variants(program);
  const auto found =
      std::ranges::find_if(all, [](const fbs::ProgramT* one) { return why_not_here(*one).empty(); });
  return std::min(static_cast<size_t>(found - all.begin()), all.size() - 1);
}

/// Returns the bytes of the tail that a variant uses, by offset. The code of the program itself is not there.
std::map<uint64_t, uint64_t> used_pieces(const fbs::ProgramT& variant, bool is_program) {
  std::map<uint64_t, uint64_t> pieces;
  if (!is_program) pieces.emplace(variant.elf_offset, variant.elf_bytes);
  for (const auto& constant : variant.constants)
    if (constant->bytes > 0) pieces.emplace(constant->offset, constant->bytes);
  for (const auto& region : variant.regions)
    if (region->blob_bytes > 0) pieces.emplace(region->blob_offset, region->blob_bytes);
  return pieces;
}

}  // namespace

std::vector<ProgramVariant> list_variants(const fbs::ProgramT& program) {
  std::vector<ProgramVariant> list;
  if (program.variants.empty()) return list;
  for (const fbs::ProgramT* one : all_variants(program))
    list.push_back({one->cpu, one->cpu_features, one->precision, why_not_here(*one)});
  list[number_of_taken(program)].is_taken = true;
  return list;
}

std::string print_variant(const ProgramVariant& variant) {
  const std::string state = variant.is_taken && variant.why_not.empty() ? "taken here"
                            : variant.why_not.empty()                   ? "runs here, too"
                                                                        : variant.why_not;
  return fmt::format(
      "{}{}: {}", variant.features.empty() ? "any CPU" : fmt::format("{}", fmt::join(variant.features, ", ")),
      variant.precision.empty() ? "" : ", factors in " + variant.precision, state);
}

fbs::ProgramT take_variant(fbs::ProgramT program) {
  const size_t number = number_of_taken(program);
  fbs::ProgramT taken = number == 0 ? std::move(program) : std::move(*program.variants[number - 1]);
  taken.variants.clear();
  return taken;
}

uint64_t bytes_of_others(const fbs::ProgramT& program, uint64_t elf_bytes) {
  if (program.variants.empty()) return 0;
  const std::vector<const fbs::ProgramT*> all = all_variants(program);
  const size_t taken = number_of_taken(program);
  const std::map<uint64_t, uint64_t> used = used_pieces(*all[taken], taken == 0);
  std::map<uint64_t, uint64_t> others;
  uint64_t bytes = taken == 0 ? 0 : elf_bytes;
  for (size_t i = 0; i < all.size(); ++i)
    if (i != taken) others.merge(used_pieces(*all[i], i == 0));
  for (const auto& [offset, size] : others)
    if (!used.contains(offset)) bytes += size;
  return bytes;
}

Status verify_machine(const fbs::ProgramT& taken, std::span<const ProgramVariant> variants) {
  if (variants.empty()) return verify_machine(taken);
  if (std::ranges::any_of(variants, [](const ProgramVariant& one) { return one.why_not.empty(); })) return {};
  std::vector<std::string> texts;
  for (const ProgramVariant& one : variants) texts.push_back(fmt::format("{} ({})", one.cpu, one.why_not));
  return fail(
      ErrorKind::unsupported,
      "compiled for {} CPUs, none of which is this one: {}: compile the model for a lower --cpu level, "
      "too",
      variants.size(), fmt::join(texts, "; "));
}

}  // namespace intarsia
