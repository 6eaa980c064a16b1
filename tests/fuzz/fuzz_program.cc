// Arbitrary bytes as a program file: reading ends in a program that verifies or in an error, never in a
// crash.
//
// The first byte of the input chooses what is fuzzed: only the description, wrapped into a file with a
// correct footer; the whole file with a corrected digest, since no fuzzer guesses one; or the file as it is.
//
// Covers: src/program/ print_program.cc read_program.cc variants.cc verify_function.cc verify_program.cc
// verify_stages.cc
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/digest.h"
#include "program/print_program.h"
#include "program/read_program.h"

namespace {

using namespace intarsia;

constexpr uint64_t data_bytes = 256;  // size of the constants, and of the blobs

/// Makes an aligned file that contains `description` and nothing else of interest.
std::vector<std::byte> wrap(std::span<const std::byte> description) {
  Footer footer{.elf_bytes = 0,
                .constants_bytes = data_bytes,
                .blobs_bytes = data_bytes,
                .description_bytes = round_up(description.size(), tail_alignment)};
  std::vector<std::byte> file(2 * data_bytes);
  file.insert(file.end(), description.begin(), description.end());
  file.resize(2 * data_bytes + footer.description_bytes);
  Digest digest;
  digest.add(std::span(file).subspan(data_bytes));
  digest.add(std::as_bytes(std::span(&footer, 1)).first(offsetof(Footer, digest)));
  footer.digest = digest.value();
  const auto bytes = std::as_bytes(std::span(&footer, 1));
  file.insert(file.end(), bytes.begin(), bytes.end());
  return file;
}

/// Corrects the digest if the footer's sizes make sense.
void make_digest_right(std::vector<std::byte>& file) {
  Footer footer;
  if (file.size() < sizeof(footer)) return;
  std::byte* const end = file.data() + file.size() - sizeof(footer);
  std::memcpy(&footer, end, sizeof(footer));
  for (uint64_t part : {footer.elf_bytes, footer.constants_bytes})
    if (part > file.size()) return;
  const uint64_t head = tail_offset(footer), rest = head + footer.constants_bytes;
  if (rest > file.size() - sizeof(footer)) return;
  Digest digest;
  digest.add(std::span(file).first(head));
  digest.add(std::span(file).subspan(rest, file.size() - sizeof(footer) + offsetof(Footer, digest) - rest));
  footer.digest = digest.value();
  std::memcpy(end, &footer, sizeof(footer));
}

std::vector<std::byte> make_file(int kind, std::span<const std::byte> input) {
  if (kind == 0) return wrap(input);
  std::vector<std::byte> file(input.begin(), input.end());
  if (kind == 1) make_digest_right(file);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data + 1, size - 1));
  const std::vector<std::byte> file = make_file(data[0] % 3, input);
  const std::unique_ptr<std::byte, void (*)(void*)> aligned(
      static_cast<std::byte*>(std::aligned_alloc(64, round_up(file.size() + 1, 64))), std::free);
  std::byte* begin = aligned.get();
  std::ranges::copy(file, begin);
  const auto program = parse_program({begin, file.size()});
  if (program) {
    print_program(program->description);
    for (const ProgramVariant& variant : program->variants) print_variant(variant);
    (void)verify_constants(*program);
  }
  return 0;
}
