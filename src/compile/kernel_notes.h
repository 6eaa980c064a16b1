// Notes in a program on what the kernels of a region compute (KernelNotes).
#pragma once

#include "compile/build_function.h"

namespace intarsia {

/// Returns the packed notes for a region of the plan: its backend's description of each kernel, or else the
/// facts known about each node. The plan's nodes have the program's numbers from `first_node` on. Without
/// `keep_names` all names are omitted.
std::vector<uint8_t> pack_kernel_notes(const FunctionParts& parts, size_t region, uint32_t first_node,
                                       bool keep_names);

}  // namespace intarsia
