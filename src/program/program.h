// Layout of a program file (docs/format.md). All numbers are little-endian.
//
//   ELF image | zeros up to a page | constants | blobs | description | footer
//                                    ^ the tail: offsets in the description count from here
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "program/program_generated.h"

namespace intarsia {

/// Version of the format, raised when a meaning in the file changes; new optional fields do not raise it.
inline constexpr uint32_t program_format_version = 2;
inline constexpr char program_magic[8] = {'I', 'N', 'T', 'A', 'R', 'S', 'I', 'A'};
inline constexpr uint64_t program_page = 4096;
/// Alignment of constants and blobs in the tail and of values in an arena, so that kernels may use aligned
/// vector loads.
inline constexpr uint64_t tail_alignment = 64;

/// Last bytes of the file. Sizes determine every offset, as the parts lie one after the other. Fields after
/// `digest` keep their place, counted from the end of the file, in every format version.
struct Footer {
  uint64_t elf_bytes = 0;
  uint64_t constants_bytes = 0;    // a multiple of 64
  uint64_t blobs_bytes = 0;        // a multiple of 64
  uint64_t description_bytes = 0;  // a multiple of 64: FlatBuffers data, then zeros
  uint64_t digest = 0;             // XXH3 of every byte before it, except the constants, which have their own
  uint32_t format_version = program_format_version;
  uint32_t footer_bytes = sizeof(Footer);
  char magic[8] = {'I', 'N', 'T', 'A', 'R', 'S', 'I', 'A'};
};
static_assert(sizeof(Footer) == 56);

constexpr uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr uint64_t tail_offset(const Footer& footer) { return round_up(footer.elf_bytes, program_page); }

/// Number of the host's space in every program; callers' buffers and mapped constants are in it.
inline constexpr uint32_t host_space = 0;
inline constexpr std::string_view host_space_kind = "host";

/// Features that a program may need (`needs`).
inline constexpr std::string_view alternatives_feature = "alternatives";
inline constexpr std::string_view symbols_feature = "symbols";
inline constexpr std::string_view cpus_feature = "cpus";
inline constexpr std::string_view calls_feature = "calls";

/// Whether a step runs bodies, which are functions of its own.
inline bool has_bodies(const fbs::StepT& step) {
  return step.kind == fbs::StepKind::branch || step.kind == fbs::StepKind::loop;
}

/// Returns how many inputs of a loop limit its iterations; the outer values of its body follow them.
inline size_t limits_of_loop(const fbs::StepT& step) {
  return size_t{step.has_trip_count} + size_t{step.has_condition};
}

/// Returns the kind of the space that devices of a kind work in.
constexpr std::string_view space_kind(std::string_view device_kind) {
  return device_kind == "cpu" || device_kind == "openvino" ? host_space_kind : device_kind;
}

}  // namespace intarsia
