// Checks of a program's description, beyond the FlatBuffers verifier's, on which a runtime may rely.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// Verifies that every index is in range; every offset and size lies where it should (constants in the first
/// `constants_bytes` of the tail, blobs between those and `data_bytes`, values and workspaces in their
/// space's arena); dtypes and sizes make sense; a step reads only what exists before it, and every value is
/// written once; a step's values lie in its slot's space, callers' values in the host's; stages run every
/// region once and find what they read; and all of this for each variant, whose code lies among the blobs.
/// The first violation is the error.
Status verify_program(const fbs::ProgramT& program, uint64_t constants_bytes, uint64_t data_bytes);

/// Verifies that parts are not shared: FlatBuffers data may refer to one part many times and so unpack into
/// far more than the file's size. Our writer never shares: parts that add up to more than `bytes` are damage.
Status verify_unshared(const fbs::Program& program, size_t bytes);

}  // namespace intarsia
