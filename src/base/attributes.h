// Attributes of an operator: names with typed values, as in ONNX. The graph and the reference kernels share
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

/// Attribute that only a framework understands (a subgraph, a type), kept as its serialized
/// AttributeProto.
struct EncodedAttribute {
  std::string bytes;
  bool operator==(const EncodedAttribute&) const = default;
};

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>, Tensor, EncodedAttribute>;

/// Attributes ordered by name, so that equal sets compare and print equal.
class Attributes {
 public:
  struct Entry {
    std::string name;
    AttributeValue value;
    /// Compares floats by their bits: NaN equals itself, 0.0 does not equal -0.0.
    bool operator==(const Entry& other) const;
  };

  void set(std::string name, AttributeValue value);
  void erase(std::string_view name);
  const AttributeValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// Returns the value if the attribute exists with this type, else the given default.
  int64_t get_int(std::string_view name, int64_t otherwise) const;
  float get_float(std::string_view name, float otherwise) const;
  std::string get_string(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<float> get_floats(std::string_view name, std::vector<float> otherwise = {}) const;
  std::vector<std::string> get_strings(std::string_view name) const;
  const Tensor* get_tensor(std::string_view name) const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool operator==(const Attributes&) const = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace intarsia
