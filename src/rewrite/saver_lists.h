// Lists of names and types of the nodes that save and restore tensors (SaveV2, RestoreV2).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tensorflow/messages.h"

namespace intarsia {

/// Inputs of a SaveV2 before the tensors: prefix, names, slices.
inline constexpr size_t first_saved = 3;

/// Returns the list without the elements of these numbers.
template <typename T>
std::vector<T> without(const std::vector<T>& list, const std::set<size_t>& numbers) {
  std::vector<T> rest;
  for (size_t i = 0; i < list.size(); ++i)
    if (!numbers.contains(i)) rest.push_back(list[i]);
  return rest;
}

/// Returns the texts of a constant; none of another node.
std::vector<std::string> strings_of(const tensorflow::NodeDef& constant);
void set_strings(tensorflow::NodeDef& constant, const std::vector<std::string>& texts);

}  // namespace intarsia
