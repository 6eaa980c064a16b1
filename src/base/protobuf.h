// Reader and writer of protobuf messages (protozero). Include this and never protozero itself, which asserts
// that a field has the wire type that the reader asks for. That depends on the file, so here a wrong type
// throws like all other damage, in every build.
#pragma once

#include <protozero/exception.hpp>

namespace intarsia {

struct WrongWireType : protozero::exception {
  const char* what() const noexcept override { return "a field has another wire type than the format says"; }
};

}  // namespace intarsia

#define protozero_assert(condition) ((condition) ? void() : throw ::intarsia::WrongWireType())

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <string_view>

namespace intarsia {

/// Largest size of a message, in bytes.
inline constexpr size_t largest_message = (size_t{1} << 31) - 1;

inline protozero::pbf_reader read_message(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

/// Returns the bytes of the field that the reader stands at: a string or a nested message.
inline std::string_view read_bytes(protozero::pbf_reader& message) {
  const protozero::data_view view = message.get_view();
  return {view.data(), view.size()};
}

/// Copies the field that the reader stands at unchanged.
inline void copy_field(protozero::pbf_reader& message, protozero::pbf_writer& to) {
  switch (message.wire_type()) {
    case protozero::pbf_wire_type::varint:
      to.add_uint64(message.tag(), message.get_uint64());
      break;
    case protozero::pbf_wire_type::fixed64:
      to.add_fixed64(message.tag(), message.get_fixed64());
      break;
    case protozero::pbf_wire_type::fixed32:
      to.add_fixed32(message.tag(), message.get_fixed32());
      break;
    default: {
      const uint32_t tag = message.tag();
      to.add_bytes(tag, message.get_view());
    }
  }
}

}  // namespace intarsia
