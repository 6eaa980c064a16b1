// Formatting of values for the terminal.
#pragma once

#include <intarsia/intarsia.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using Json = nlohmann::ordered_json;

/// Returns the name of a type: "f32".
const char* dtype_name(int32_t dtype);
/// Formats "f32[1,3,224,224]".
std::string print_type(const std::string& dtype, const std::vector<int64_t>& shape);
/// Formats the type of an input or output in a report: {"dtype","shape"}, unknown sizes as "?".
std::string print_type(const Json& port);
/// Returns {"dtype","shape"} of a tensor; nulls for anything else.
Json describe_tensor(const intarsia_tensor& tensor);
/// Returns {"number","targets","measured_ms","reason"}.
Json describe_alternative(const intarsia::Alternative& alternative);
/// Formats an alternative as a line; empty for the preferred plan.
std::string print_alternative(const Json& alternative);
/// Formats open sizes: "batch = 2, seq = 7".
std::string print_sizes(const Json& sizes);
/// Formats "4.7 MB".
std::string print_bytes(double bytes);
/// Formats "3 regions", "1 region".
std::string count_of(size_t count, const std::string& noun);
/// Prints one object on standard output. Bytes of names that are not UTF-8 are replaced.
void print_json(const Json& json);
