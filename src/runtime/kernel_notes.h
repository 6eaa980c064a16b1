// What a program says about the kernels of a region.
#pragma once

#include <string_view>

#include "base/flat_buffer.h"
#include "program/program.h"

namespace intarsia {

/// The notes of one region, checked; none when the program has none or they are damaged.
class KernelNotes {
 public:
  /// `program` outlives this.
  KernelNotes(const fbs::ProgramT& program, size_t region);

  /// Of a kernel that a run reported as `label`, "conv1: Conv Relu", as number `place` of `count`; null: not
  /// known.
  const fbs::KernelNote* find(std::string_view label, size_t place, size_t count) const;
  /// Of one node by its number in the program; null: not known.
  const fbs::KernelNote* of_node(uint32_t node) const;
  size_t size() const;
  const fbs::KernelNote* at(size_t i) const;

 private:
  bool is_node_name(std::string_view label) const;
  bool is_about(const fbs::KernelNote& note, std::string_view name) const;

  const fbs::ProgramT& program_;
  const fbs::KernelNotes* notes_ = nullptr;
};

/// "conv1" of "conv1: Conv Relu"; empty of "Conv Relu".
std::string_view name_in_label(std::string_view label);

}  // namespace intarsia
