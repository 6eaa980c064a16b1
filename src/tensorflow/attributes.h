// Conversion of AttrValue and the attributes of a node. Values that our attributes can type (integers,
// floats, strings, tensors, lists of the first three) are typed; booleans, types, shapes, functions and other
// lists stay encoded, so that writing what was read keeps its meaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "base/shape.h"

namespace intarsia::tensorflow {

/// Reads an AttrValue. Throws protozero::exception on malformed bytes.
Result<AttributeValue> read_attribute(std::string_view bytes);
Result<std::string> write_attribute(const AttributeValue& value);

EncodedAttribute encode_bool(bool value);
EncodedAttribute encode_type(int32_t data_type);
EncodedAttribute encode_types(const std::vector<int32_t>& data_types);
EncodedAttribute encode_shape(const std::optional<SymbolicShape>& shape);
EncodedAttribute encode_shapes(const std::vector<std::optional<SymbolicShape>>& shapes);
EncodedAttribute encode_function(const std::string& name);

/// Returns the attribute if it is there and of this kind, else the given default; get_type returns the number
/// of a type, or 0.
bool get_bool(const Attributes& attributes, std::string_view name, bool otherwise);
int32_t get_type(const Attributes& attributes, std::string_view name);
DType get_dtype(const Attributes& attributes, std::string_view name, DType otherwise = DType::undefined);
std::vector<int32_t> get_types(const Attributes& attributes, std::string_view name);
/// Returns the shape; nullopt if there is no such attribute, and an inner nullopt if the rank is unknown.
std::optional<std::optional<SymbolicShape>> get_shape(const Attributes& attributes, std::string_view name);
/// Returns the shapes of a list, nullopt for one of unknown rank; none if there is no such attribute.
std::vector<std::optional<SymbolicShape>> get_shapes(const Attributes& attributes, std::string_view name);
/// Returns the names of the functions that an attribute refers to: one, a list, or none.
std::vector<std::string> get_functions(const AttributeValue& value);

}  // namespace intarsia::tensorflow
