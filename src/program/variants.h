// Variants of a program for several CPUs, of which a machine runs one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// What a variant demands of a machine, and whether this one has it.
struct ProgramVariant {
  std::string cpu;                    // level that its code was generated for: "x86-64-v4"
  std::vector<std::string> features;  // features that it demands
  std::string precision;              // type that products of f32 round their factors to; empty: they do not
  std::string why_not;                // reason why it does not run here; empty if it does
  bool is_taken = false;              // whether take_variant() takes it
};

/// Returns the program and its variants, in their order, the most demanding first; none if it has no
/// variants.
std::vector<ProgramVariant> list_variants(const fbs::ProgramT& program);

/// Prints "x86-64-v4, avx512vnni: taken here" or what else there is to say of it.
std::string print_variant(const ProgramVariant& variant);

/// Returns the first of the program and its variants that runs on this machine, or else the last one.
fbs::ProgramT take_variant(fbs::ProgramT program);

/// Returns the bytes of the file that all variants use but the one that take_variant() takes. `elf_bytes` are
/// those of the program's own code.
uint64_t bytes_of_others(const fbs::ProgramT& program, uint64_t elf_bytes);

/// Checks that this machine has what the program taken demands. The error names what each variant lacks.
Status verify_machine(const fbs::ProgramT& taken, std::span<const ProgramVariant> variants);

/// Writes a program whose variants are these programs, the most demanding first. Each is a whole program;
/// equal constants and equal blobs are stored once.
Status join_programs(std::span<const std::string> paths, const std::string& joined);

}  // namespace intarsia
