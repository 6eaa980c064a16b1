// Names of machines: they tell machines apart, even where the system names no model of its processor.
//
// Covers: src/target/ machine_name.cc
#include "target/machine_name.h"

#include <gtest/gtest.h>

namespace intarsia {
namespace {

const std::string x86 =
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9354\nstepping\t: 1\n"
    "processor\t: 1\nmodel name\t: AMD EPYC 9354\n";
const std::string arm =
    "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n\n"
    "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n"
    "processor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
const std::string silent = "processor\t: 0\nhart\t: 1\nisa\t: rv64imafdc\n";

TEST(MachineName, IsTheModelWhereItIsNamed) {
  EXPECT_EQ(machine_name({.cpuinfo = x86, .board = "board", .caches = {"32K", "1024K"}, .cores = 2}),
            "AMD EPYC 9354, 2 cores, caches 32K 1024K");
}

TEST(MachineName, IsMadeOfThePartsOfAllCores) {
  EXPECT_EQ(machine_name({.cpuinfo = arm, .board = "board", .cores = 3}),
            "CPU 0x41 part 0xd05 + CPU 0x41 part 0xd0c, 3 cores");
}

TEST(MachineName, IsTheBoardThenWhatIsLeft) {
  EXPECT_EQ(
      machine_name({.cpuinfo = silent, .board = "HiFive Unmatched", .architecture = "riscv64", .cores = 4}),
      "HiFive Unmatched, 4 cores");
  EXPECT_EQ(machine_name({.cpuinfo = silent, .architecture = "riscv64", .max_khz = "1200000", .cores = 4}),
            "riscv64 at 1200000 kHz, 4 cores");
  EXPECT_EQ(machine_name({.architecture = "aarch64", .cores = 1}), "aarch64, 1 cores");
}

TEST(MachineName, OfThisMachineIsTheSameEachTime) {
  const std::string name = machine_name(read_machine_facts());
  EXPECT_EQ(name.find(", 0 cores"), std::string::npos) << name;
  EXPECT_NE(name.front(), ',') << name;
  EXPECT_EQ(name, machine_name(read_machine_facts()));
}

}  // namespace
}  // namespace intarsia
