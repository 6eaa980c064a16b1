// What the kernels of a region compute, as the program says it (KernelNotes).
#pragma once

#include "compile/build_function.h"

namespace intarsia {

/// The bytes for a region of the plan: what its backend says of each kernel, or what is known of each node.
/// The plan's nodes are the program's from `first_node` on. Without `keep_names` nothing is named.
std::vector<uint8_t> pack_kernel_notes(const FunctionParts& parts, size_t region, uint32_t first_node,
                                       bool keep_names);

}  // namespace intarsia
