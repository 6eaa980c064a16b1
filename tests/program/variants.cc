// Programs with variants for several CPUs: joined, equal bytes stored once, the first one taken that runs
// here, errors that name what each lacks, and damaged bytes.
//
// Covers: src/program/ join_programs.cc variants.cc verify_machine.cc
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "base/architecture.h"
#include "base/digest.h"
#include "program/read_program.h"
#include "program/verify_machine.h"
#include "runtime/load_program.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

constexpr size_t constant_count = 10'000;

/// Makes a program that demands features, with a large constant and one of its own.
ProgramMaker program_for(const std::string& cpu, std::vector<std::string> features, float own) {
  ProgramMaker maker = small_program();
  maker.program.cpu = cpu;
  maker.program.cpu_features = std::move(features);
  maker.constant(std::vector<float>(constant_count, 3.0f));
  maker.constant({own});
  return maker;
}

/// Returns known features that no CPU has together, or that the one that is emulated lacks; empty if it lacks
/// none.
std::vector<std::string> lacked_features() {
  if (this_arch() == Arch::aarch64) return {"sve"};
  if (this_arch() == Arch::armv7) return {"idiv"};
  if (this_arch() == Arch::riscv64) return {};
  return {"amx-tile", "sse4a"};
}

class Variants : public testing::Test {
 protected:
  /// Joins programs, which demand a feature each, or none.
  Status join(const std::vector<std::vector<std::string>>& features) {
    std::vector<std::string> paths;
    for (size_t i = 0; i < features.size(); ++i) {
      paths.push_back(folder_ / ("p" + std::to_string(i) + ".so"));
      ProgramMaker maker = program_for("level" + std::to_string(i), features[i], static_cast<float>(i));
      TRY(maker.write(paths.back()));
    }
    return join_programs(paths, joined());
  }

  std::string joined() const { return folder_ / "joined.so"; }

  const TestFolder folder_;
};

TEST_F(Variants, TheFirstThatRunsIsTaken) {
  if (lacked_features().empty()) GTEST_SKIP() << "this CPU lacks no known feature";
  ASSERT_TRUE(join({{"quantum"}, lacked_features(), {}, {}}));
  const auto program = read_program(joined());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->description.cpu, "level2");
  EXPECT_TRUE(program->description.variants.empty());
  ASSERT_EQ(program->variants.size(), 4U);
  EXPECT_TRUE(program->variants[2].is_taken && program->variants[3].why_not.empty());
  EXPECT_NE(program->variants[0].why_not.find("'quantum'"), std::string::npos);
  EXPECT_NE(program->variants[1].why_not.find("this CPU lacks"), std::string::npos);
  EXPECT_EQ(print_variant(program->variants[2]), "any CPU: taken here");
  EXPECT_EQ(print_variant(program->variants[3]), "any CPU: runs here, too");
  EXPECT_TRUE(verify_machine(program->description, program->variants));
  EXPECT_EQ(program->constants.back().as<float>()[0], 2.0f);
  EXPECT_EQ(program->constants[program->constants.size() - 2].as<float>()[constant_count - 1], 3.0f);
  EXPECT_TRUE(verify_constants(*program));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(program->blobs[0].data()), 3), "add");
  const auto loaded = load_program(joined(), std::array{toy_backend()});
  ASSERT_TRUE(loaded) << loaded.error().message;
}

TEST_F(Variants, EqualBytesAreStoredOnce) {
  ASSERT_TRUE(join({{}, {"quantum"}, {"quantum"}}));
  const auto alone = read_program(folder_ / "p0.so"), all = read_program(joined());
  ASSERT_TRUE(alone && all);
  EXPECT_LT(all->bytes, alone->bytes + 2 * alone->elf.size() + 16 * 1024);
  EXPECT_GE(all->variant_bytes, all->elf.size());
  EXPECT_LT(all->variant_bytes, all->elf.size() + 1024) << "code and constants of their own";
  EXPECT_EQ(alone->variant_bytes, 0U);
}

TEST_F(Variants, NoneRunsHere) {
  if (lacked_features().empty()) GTEST_SKIP() << "this CPU lacks no known feature";
  ASSERT_TRUE(join({lacked_features(), {"quantum"}}));
  const auto program = read_program(joined());
  ASSERT_TRUE(program) << program.error().message;  // to be looked at
  EXPECT_EQ(program->description.cpu, "level1");
  EXPECT_EQ(print_variant(program->variants[1]).find("taken"), std::string::npos);
  const auto loaded = load_program(joined(), std::array{toy_backend()});
  ASSERT_FALSE(loaded);
  const std::string& message = loaded.error().message;
  for (const char* part :
       {"compiled for 2 CPUs, none of which is this one: level0 (this CPU lacks ",
        "level1 (it needs the CPU feature 'quantum'", "compile the model for a lower --cpu"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(Variants, FlippedBitsAreFound) {
  ASSERT_TRUE(join({{"quantum"}, {}}));
  const std::string bytes = read_bytes(joined());
  Footer footer;
  std::memcpy(&footer, bytes.data() + bytes.size() - sizeof(footer), sizeof(footer));
  for (size_t at = tail_offset(footer) + footer.constants_bytes; at < bytes.size(); at += 5) {
    std::string damaged = bytes;
    damaged[at] ^= static_cast<char>(1 << (at % 8));
    write_bytes(folder_ / "bad.so", damaged);
    ASSERT_FALSE(read_program(folder_ / "bad.so")) << "byte " << at;
  }
}

/// Corrects the digest of a file whose blobs or description were changed.
void make_digest_right(std::string& file) {
  Footer footer;
  std::memcpy(&footer, file.data() + file.size() - sizeof(footer), sizeof(footer));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(file));
  Digest digest;
  digest.add(bytes.first(tail_offset(footer)));
  const size_t rest = tail_offset(footer) + footer.constants_bytes;
  digest.add(bytes.subspan(rest, file.size() - sizeof(footer) + offsetof(Footer, digest) - rest));
  footer.digest = digest.value();
  std::memcpy(file.data() + file.size() - sizeof(footer), &footer, sizeof(footer));
}

TEST_F(Variants, DamageWithARightDigestIsFoundOrHarmless) {
  ASSERT_TRUE(join({{"quantum"}, {}}));
  const std::string bytes = read_bytes(joined());
  Footer footer;
  std::memcpy(&footer, bytes.data() + bytes.size() - sizeof(footer), sizeof(footer));
  const size_t first = bytes.size() - sizeof(footer) - footer.description_bytes;
  std::mt19937 random(5);
  size_t errors = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i <= round % 3; ++i)
      damaged[first + random() % footer.description_bytes] = static_cast<char>(random() % 256);
    make_digest_right(damaged);
    write_bytes(folder_ / "bad.so", damaged);
    const auto program = load_program(folder_ / "bad.so", std::array{toy_backend()});
    errors += program ? 0 : 1;
  }
  EXPECT_GT(errors, 200U);
  EXPECT_LT(errors, 2000U);
}

/// Description with a variant that has code of some bytes.
ProgramMaker with_variant(uint64_t elf_bytes) {
  ProgramMaker maker = small_program();
  auto variant = std::make_unique<fbs::ProgramT>(maker.program);
  variant->elf_bytes = elf_bytes;
  maker.program.variants.push_back(std::move(variant));
  maker.program.needs.emplace_back(cpus_feature);
  return maker;
}

TEST_F(Variants, AreVerified) {
  const auto expect_error = [&](const ProgramMaker& maker, const std::string& error) {
    const Status written = maker.write(folder_ / "p.so");
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find(error), std::string::npos) << written.error().message;
  };
  expect_error(with_variant(uint64_t{1} << 60),
               "variant 0: 1152921504606846976 bytes of code at 0 do not lie");
  expect_error(with_variant(0), "variant 0: 0 bytes of code at 0 do not lie in the blobs");
  ProgramMaker nested = with_variant(0);
  nested.program.variants[0]->variants.push_back(std::make_unique<fbs::ProgramT>());
  expect_error(nested, "variant 0: it has variants");
  ProgramMaker undeclared = with_variant(0);
  undeclared.program.needs.clear();
  expect_error(undeclared, "it has variants, but does not need 'cpus'");
}

}  // namespace
}  // namespace intarsia::test
