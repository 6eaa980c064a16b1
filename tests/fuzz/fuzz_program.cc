// Any bytes as a program file: reading ends in a program that verifies or in an error, never in a crash.
//
// The first byte of the input chooses what is fuzzed: the whole file, or the description alone, which is then
// wrapped into a file with a right footer, since no fuzzer guesses a digest.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "program/digest.h"
#include "program/print_program.h"
#include "program/read_program.h"

namespace {

using namespace intarsia;

constexpr uint64_t data_bytes = 256;  // constants, and as much for blobs

/// An aligned file that holds `description` and nothing else of interest.
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data + 1, size - 1));
  const std::vector<std::byte> file =
      data[0] % 2 == 0 ? wrap(input) : std::vector<std::byte>(input.begin(), input.end());
  const std::unique_ptr<std::byte, void (*)(void*)> aligned(
      static_cast<std::byte*>(std::aligned_alloc(64, round_up(file.size() + 1, 64))), std::free);
  std::byte* begin = aligned.get();
  std::ranges::copy(file, begin);
  const auto program = parse_program({begin, file.size()});
  if (program) {
    print_program(program->description);
    (void)verify_constants(*program);
  }
  return 0;
}
