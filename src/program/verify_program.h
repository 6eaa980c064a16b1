// What a runtime may rely on in a program's description, beyond what the FlatBuffers verifier checks.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// Every index is in range; every offset and size lies where it should (constants in the first
/// `constants_bytes` of the tail, blobs between those and `data_bytes`, values and workspaces in their slot's
/// arena); dtypes and sizes make sense; a step reads only what exists before it, and every value is written
/// once; step inputs lie on the step's slot; callers' values lie on host slots; stages run every region once
/// and find what they read. The first violation is the error.
Status verify_program(const fbs::ProgramT& program, uint64_t constants_bytes, uint64_t data_bytes);

/// FlatBuffers data may refer to one part many times and so unpack into far more than the file's size. Our
/// writer never shares: parts that add up to more than `bytes` are damage.
Status verify_unshared(const fbs::Program& program, size_t bytes);

}  // namespace intarsia
