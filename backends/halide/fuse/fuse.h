// Fusion: chooses which nodes become one kernel: an attention; an anchor (contraction, window, reduction,
// movement) with the elementwise nodes after it (its epilogue), for a convolution also those before it (its
// prologue); reductions over the same axes together with the elementwise nodes between them; chains of only
// elementwise nodes; a single recurrent node. Values inside a group stay in registers or small buffers.
//   conv -> add -> relu, relu read twice        =>  one kernel [conv, add, relu]
//   max -> sub -> exp -> sum -> div (a softmax)  =>  one kernel
//   matmul -> mul -> add -> softmax -> matmul (an attention)  =>  one kernel
#pragma once

#include <string>
#include <vector>

#include "backends/halide/abi/kernel_device.h"
#include "backends/halide/core/core_ops.h"
#include "backends/halide/fuse/match_attention.h"
#include "backends/halide/layout/choose_layouts.h"

namespace intarsia::halide {

struct Group {
  Form form = Form::elementwise;                           // form of its anchor
  std::vector<NodeId> nodes;                               // nodes, ascending; the last one produces `output`
  ValueId output = no_value;                               // value read from outside the group, the only one
  std::optional<AttentionNodes> attention = std::nullopt;  // roles of the nodes in an attention
};

/// Returns groups in an order in which they can run. Views and concats are in no group. Work items of
/// a device do not share what they read, so no prologue is fused and the parts of an attention stay apart.
std::vector<Group> fuse(const Layouts& layouts, KernelDevice device = KernelDevice::cpu);

std::string print_groups(const Layouts& layouts, const std::vector<Group>& groups);

}  // namespace intarsia::halide
