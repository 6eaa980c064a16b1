// Files of times: what is written is read, damage is an error that says what is wrong, and no bytes crash the
// reader.
//
// Covers: src/target/ cost_file.cc
#include "target/cost_file.h"

#include <gtest/gtest.h>

#include <random>

#include "base/digest.h"

namespace intarsia {
namespace {

CostFile file_of(std::initializer_list<int64_t> times) {
  CostFile file{"CPU 0x41 part 0xd08, 4 cores", "aarch64", "cortex-a72", "halide", "21.0.0", "c0de", {}};
  for (const int64_t nanoseconds : times) {
    const CostKey key{.digest = content_digest(std::to_string(nanoseconds)),
                      .backend = "halide",
                      .version = "21.0.0",
                      .code = "c0de",
                      .device = "cpu",
                      .threads = 4,
                      .precision = "f32"};
    file.kernels.push_back({key, {{nanoseconds, 0.25}, 50'000, 1'700'000'000'123}});
  }
  return file;
}

TEST(CostFiles, WhatIsWrittenIsRead) {
  const CostFile file = file_of({1, 999, 1'234'567, 987'654'321'012});
  const auto read = read_cost_file(print_cost_file(file));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::tuple(read->machine, read->architecture, read->cpu),
            std::tuple(file.machine, file.architecture, file.cpu));
  EXPECT_EQ(std::tuple(read->backend, read->version, read->code),
            std::tuple(file.backend, file.version, file.code));
  EXPECT_EQ(read->kernels, file.kernels);
}

TEST(CostFiles, ProgramsWithoutIntarsiaMayLeaveOutWhatTheyDoNotKnow) {
  const auto read = read_cost_file(R"({"intarsia_costs": 1,
    "machine": {"name": "a board", "architecture": "aarch64"}, "cpu": "cortex-a72",
    "generator": {"backend": "halide", "version": "21.0.0", "code": "c0de"},
    "kernels": [{"digest": "0123456789abcdef0123456789abcdef", "threads": 1, "precision": "f32", "seconds": 2e-6}]})");
  ASSERT_TRUE(read) << read.error().message;
  const Cost& cost = read->kernels.at(0).second;
  EXPECT_EQ(cost.timing, (Timing{2000, 0}));
  EXPECT_EQ(cost.probe_nanoseconds, 0);
  EXPECT_GT(cost.at, 1'700'000'000'000) << "it is as old as the import";
}

struct Damage {
  const char *text, *replacement, *message;
};

class DamagedCostFiles : public testing::TestWithParam<Damage> {};

TEST_P(DamagedCostFiles, AreErrorsThatSayWhatIsWrong) {
  std::string text = print_cost_file(file_of({2000, 3000}));
  const size_t at = text.find(GetParam().text);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, std::string_view(GetParam().text).size(), GetParam().replacement);
  const auto read = read_cost_file(text);
  ASSERT_FALSE(read) << text;
  EXPECT_EQ(read.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedCostFiles,
    testing::Values(
        Damage{"\"intarsia_costs\": 1", "\"intarsia_costs\": 2", "\"intarsia_costs\": got 2, want 1"},
        Damage{"\"intarsia_costs\": 1,", "", "\"intarsia_costs\": got null, want 1"},
        Damage{"\"machine\": {", "\"machine\": 5, \"x\": {", "the file: unknown key \"x\""},
        Damage{"\"name\"", "\"title\"", "\"machine\": unknown key \"title\""},
        Damage{"\"cpu\": \"cortex-a72\"", "\"cpu\": \"\"",
               "\"cpu\": got \"\", want a text of one line, not empty"},
        Damage{"\"cpu\": \"cortex-a72\"", "\"cpu\": 72", "\"cpu\": got 72, want a text"},
        Damage{"\"cpu\": \"cortex-a72\"", "\"cpu\": \"a\\nb\"",
               "\"cpu\": got \"a\\nb\", want a text of one line, not empty"},
        Damage{"\"version\": \"21.0.0\"", "\"version\": null",
               "\"generator\": \"version\": got null, want a text"},
        Damage{"\"threads\": 4", "\"threads\": 0",
               "kernel 0: \"threads\": got 0, want a number from 1 to 1024"},
        Damage{"\"threads\": 4", "\"threads\": 1.5", "kernel 0: \"threads\": got 1.5, want an integer"},
        Damage{"\"threads\": 4,", "", "kernel 0: \"threads\": got nothing, want a number from 1 to 1024"},
        Damage{"\"f32\"", "\"f31\"", "kernel 0: \"precision\": got \"f31\", want a type, as in \"f32\""},
        Damage{"\"seconds\": 2e-06", "\"seconds\": -2e-06",
               "kernel 0: \"seconds\": got -2e-06, want a number from 1e-09 to 1e+06"},
        Damage{"\"seconds\": 2e-06", "\"seconds\": 0",
               "kernel 0: \"seconds\": got 0, want a number from 1e-09 to 1e+06"},
        Damage{"\"seconds\": 2e-06", "\"seconds\": 1e7",
               "kernel 0: \"seconds\": got 10000000.0, want a number from 1e-09 to 1e+06"},
        Damage{"\"seconds\": 2e-06", "\"seconds\": \"2e-06\"",
               "kernel 0: \"seconds\": got \"2e-06\", want a number from 1e-09 to 1e+06"},
        Damage{"\"seconds\": 2e-06", "\"seconds\": NaN", "it is not JSON"},
        Damage{"\"seconds\": 2e-06", "\"seconds\": 1e999", "it is not JSON"},
        Damage{"\"spread\": 0.25", "\"spread\": -1",
               "kernel 0: \"spread\": got -1, want a number from 0 to 1e+06"},
        Damage{"\"digest\": \"", "\"digest\": \"AB\", \"x\": \"", "kernel 0: it: unknown key \"x\""},
        Damage{"\"kernels\": [", "\"kernels\": [7, ", "kernel 0: it: want an object"}),
    [](const auto& info) { return fmt::format("Number{}", info.index); });

TEST(CostFiles, AKernelIsThereOnce) {
  CostFile file = file_of({2000, 3000});
  file.kernels.push_back(file.kernels[0]);
  const auto read = read_cost_file(print_cost_file(file));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, fmt::format("kernel 2: its digest {} is there twice for 4 threads",
                                              file.kernels[0].first.digest));
  file.kernels.clear();
  EXPECT_EQ(read_cost_file(print_cost_file(file)).error().message,
            "\"kernels\": got an array, want a list of kernels, not empty");
}

TEST(CostFiles, DamagedBytesAreErrorsOrFilesOfTheSameForm) {
  const std::string whole = print_cost_file(file_of({2000, 3000}));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (int changes = 0; changes < 1 + i % 3; ++changes)
      text[random() % text.size()] = static_cast<char>(random());
    if (i % 5 == 0) text.resize(random() % text.size());
    const auto read = read_cost_file(text);
    if (!read) {
      EXPECT_FALSE(read.error().message.empty());
      continue;
    }
    const auto again = read_cost_file(print_cost_file(*read));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->kernels, read->kernels);
  }
}

}  // namespace
}  // namespace intarsia
