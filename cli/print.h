// How values look on the terminal.
#pragma once

#include <intarsia/intarsia.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using Json = nlohmann::ordered_json;

/// "f32"
const char* dtype_name(int32_t dtype);
/// "f32[1,3,224,224]"
std::string print_type(const std::string& dtype, const std::vector<int64_t>& shape);
/// The same for an input or output in a report: {"dtype","shape"}, unknown sizes as "?".
std::string print_type(const Json& port);
/// {"dtype","shape"} of a tensor; nulls for anything else.
Json describe_tensor(const intarsia_tensor& tensor);
/// {"number","targets","measured_ms","reason"}
Json describe_alternative(const intarsia::Alternative& alternative);
/// The same as a line; empty for the chosen way to run.
std::string print_alternative(const Json& alternative);
/// "4.7 MB"
std::string print_bytes(double bytes);
/// "3 regions", "1 region"
std::string count_of(size_t count, const std::string& noun);
/// One object on standard output. Bytes of names that are not UTF-8 are replaced.
void print_json(const Json& json);
