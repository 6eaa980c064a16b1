// Sizes of the public headers' structs, which grow at their end. A caller that was compiled against an older
// header hands over a shorter struct, one that was compiled against a newer header a longer one.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/result.h"
#include "include/intarsia/intarsia_compile.h"
#include "include/intarsia/intarsia_pipeline.h"

namespace intarsia::api {

/// Size of a struct in version 1 of the API, on 64-bit machines: the shortest that a caller may have. Never
/// changes.
template <typename Struct>
inline constexpr size_t first_size = 0;
template <>
inline constexpr size_t first_size<intarsia_tensor> = 72;
template <>
inline constexpr size_t first_size<intarsia_program_info> = 72;
template <>
inline constexpr size_t first_size<intarsia_function> = 32;
template <>
inline constexpr size_t first_size<intarsia_symbol> = 32;
template <>
inline constexpr size_t first_size<intarsia_argument> = 40;
template <>
inline constexpr size_t first_size<intarsia_slot> = 32;
template <>
inline constexpr size_t first_size<intarsia_shape> = 32;
template <>
inline constexpr size_t first_size<intarsia_bind_options> = 32;
template <>
inline constexpr size_t first_size<intarsia_pool_options> = 32;
template <>
inline constexpr size_t first_size<intarsia_pool_info> = 24;
template <>
inline constexpr size_t first_size<intarsia_rewrite_request> = 48;
template <>
inline constexpr size_t first_size<intarsia_rewrite_report> = 24;
template <>
inline constexpr size_t first_size<intarsia_trace_event> = 48;
template <>
inline constexpr size_t first_size<intarsia_alternative> = 40;
template <>
inline constexpr size_t first_size<intarsia_copy_counts> = 56;
template <>
inline constexpr size_t first_size<intarsia_profile_info> = 32;
template <>
inline constexpr size_t first_size<intarsia_profile_entry> = 128;
template <>
inline constexpr size_t first_size<intarsia_device> = 24;
template <>
inline constexpr size_t first_size<intarsia_plugin_description> = 32;
template <>
inline constexpr size_t first_size<intarsia_stage_function> = 88;
template <>
inline constexpr size_t first_size<intarsia_frame_event> = 48;
template <>
inline constexpr size_t first_size<intarsia_pipeline_options> = 40;
template <>
inline constexpr size_t first_size<intarsia_pipeline_info> = 32;
template <>
inline constexpr size_t first_size<intarsia_frame> = 40;
template <>
inline constexpr size_t first_size<intarsia_stage_statistics> = 88;
template <>
inline constexpr size_t first_size<intarsia_replica_statistics> = 56;
template <>
inline constexpr size_t first_size<intarsia_stage_options> = 32;
template <>
inline constexpr size_t first_size<intarsia_frame_options> = 32;
template <>
inline constexpr size_t first_size<intarsia_frame_statistics> = 48;
template <>
inline constexpr size_t first_size<intarsia_time_histogram> = 8 + 8 * INTARSIA_TIME_BUCKETS;
template <>
inline constexpr size_t first_size<intarsia_compile_request> = 256;
template <>
inline constexpr size_t first_size<intarsia_check_request> = 96;
template <>
inline constexpr size_t first_size<intarsia_peer_request> = 80;
template <>
inline constexpr size_t first_size<intarsia_explanation> = 48;
template <>
inline constexpr size_t first_size<intarsia_function_object> = 32;

/// Shortest size that a caller on this machine may have. Version 1 was for 64-bit machines only.
template <typename Struct>
inline constexpr size_t least_size = sizeof(void*) == 8 ? first_size<Struct> : sizeof(size_t);

template <typename Struct>
Status check_size(size_t size, const char* what) {
  constexpr size_t least = least_size<Struct>;
  static_assert(least > 0 && sizeof(Struct) >= least);
  if (size >= least) return {};
  return fail("struct_size of {} is {}, want at least {}: set it to sizeof of the struct", what, size, least);
}

/// Reads the caller's struct; fields that its header lacks are zero. Errors: it sets a field that this
/// library does not have.
template <typename Struct>
Result<Struct> read_struct(const Struct& given, const char* what) {
  const size_t size = given.struct_size;
  TRY(check_size<Struct>(size, what));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] != 0)
      return fail(ErrorKind::unsupported, "{} sets a field that this Intarsia does not have: update it",
                  what);
  }
  Struct known{};
  std::memcpy(&known, &given, std::min(size, sizeof(Struct)));
  return known;
}

/// Copies as much of `made` as the caller's header has.
template <typename Struct>
Status fill_struct(Struct* to, const Struct& made) {
  if (to == nullptr) return fail("no struct to fill in");
  const size_t size = to->struct_size;
  TRY(check_size<Struct>(size, "the struct to fill in"));
  std::memcpy(to, &made, std::min(size, sizeof(Struct)));
  to->struct_size = size;
  return {};
}

}  // namespace intarsia::api
