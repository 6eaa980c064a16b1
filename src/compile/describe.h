// Text of what a compile decided, for --print-after.
#pragma once

#include <string>

#include "compile/compile_model.h"

namespace intarsia {

/// "conv1 (Conv): halide@cpu, first choice" a line.
std::string describe_placement(const CompileResult& result);
/// "region 0 halide@cpu: 12 nodes, conv1 ... relu7" a line.
std::string describe_partition(const CompileResult& result);
/// "run 0 halide@cpu" and "copy x cpu -> accel" a line.
std::string describe_steps(const CompileResult& result);

/// Name of the slot of a memory (host_slot: the slot on the CPU).
std::string memory_name(const CompileResult& result, uint32_t memory);

}  // namespace intarsia
