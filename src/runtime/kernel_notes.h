// Notes of a program about the kernels of a region.
#pragma once

#include <string_view>

#include "base/flat_buffer.h"
#include "program/program.h"

namespace intarsia {

/// Checked notes of one region; there are none if the program has none or they are damaged.
class KernelNotes {
 public:
  /// Reads the notes of a region; `program` must outlive this.
  KernelNotes(const fbs::ProgramT& program, size_t region);

  /// Finds the note of a kernel that a run reported as `label`, as in "conv1: Conv Relu", at `place` of
  /// `count`; null if unknown.
  const fbs::KernelNote* find(std::string_view label, size_t place, size_t count) const;
  /// Returns the note of a single node, given by its number in the program; null if unknown.
  const fbs::KernelNote* of_node(uint32_t node) const;
  size_t size() const;
  const fbs::KernelNote* at(size_t i) const;

 private:
  bool is_node_name(std::string_view label) const;
  bool is_about(const fbs::KernelNote& note, std::string_view name) const;

  const fbs::ProgramT& program_;
  const fbs::KernelNotes* notes_ = nullptr;
};

/// Returns "conv1" for "conv1: Conv Relu", and an empty name for "Conv Relu".
std::string_view name_in_label(std::string_view label);

}  // namespace intarsia
