// The reader and writer of protobuf messages (protozero). Include this and never protozero itself: what it asserts, that
// a field has the wire type that the reader asks for, is up to whoever wrote the file, so it throws here like all other
// damage does, in every build.
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
