#include "runtime/kernel_notes.h"

#include <algorithm>

#include "base/bytes.h"

namespace intarsia {
namespace {

/// Checks a vector's alignment, which the verifier of FlatBuffers does not.
template <typename T>
bool is_aligned_vector(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || intarsia::is_aligned(vector->Data(), sizeof(T));
}

}  // namespace

std::string_view name_in_label(std::string_view label) {
  const size_t end = label.rfind(": ");
  return end == std::string_view::npos ? std::string_view() : label.substr(0, end);
}

KernelNotes::KernelNotes(const fbs::ProgramT& program, size_t region) : program_(program) {
  const std::vector<uint8_t>& bytes = program.regions[region]->kernel_notes;
  notes_ = find_table<fbs::KernelNotes>(std::as_bytes(std::span(bytes)));
  if (notes_ != nullptr && notes_->notes() == nullptr) notes_ = nullptr;
}

size_t KernelNotes::size() const { return notes_ == nullptr ? 0 : notes_->notes()->size(); }

const fbs::KernelNote* KernelNotes::at(size_t i) const {
  const fbs::KernelNote* note = notes_->notes()->Get(static_cast<flatbuffers::uoffset_t>(i));
  return is_aligned_vector(note->dims()) && is_aligned_vector(note->weights()) ? note : nullptr;
}

bool KernelNotes::is_about(const fbs::KernelNote& note, std::string_view name) const {
  const auto* nodes = note.nodes();
  const uint32_t first = nodes != nullptr && nodes->size() > 0 ? nodes->Get(0) : UINT32_MAX;
  const bool is_node = first < program_.nodes.size() && program_.nodes[first]->name == name;
  return is_node || (note.output() != nullptr && note.output()->string_view() == name);
}

const fbs::KernelNote* KernelNotes::of_node(uint32_t node) const {
  for (size_t i = 0; i < size(); ++i) {
    const fbs::KernelNote* note = at(i);
    const bool is_it = note != nullptr && note->nodes() != nullptr && note->nodes()->size() == 1 &&
                       note->nodes()->Get(0) == node;
    if (is_it) return note;
  }
  return nullptr;
}

/// Checks for a node's name: a device whose times are declared reports nodes in place of kernels.
bool KernelNotes::is_node_name(std::string_view label) const {
  return std::ranges::any_of(program_.nodes, [&](const auto& node) { return node->name == label; });
}

const fbs::KernelNote* KernelNotes::find(std::string_view label, size_t place, size_t count) const {
  if (notes_ == nullptr) return nullptr;
  if (notes_->in_order()) {
    const fbs::KernelNote* note = count == size() ? at(place) : nullptr;
    const bool fits = note != nullptr && (!is_node_name(label) || is_about(*note, label));
    return fits ? note : nullptr;
  }
  const std::string_view name = is_node_name(label) ? label : name_in_label(label);
  for (size_t i = 0; i < size() && !name.empty(); ++i) {
    const fbs::KernelNote* note = at(i);
    if (note != nullptr && is_about(*note, name)) return note;
  }
  return nullptr;
}

}  // namespace intarsia
