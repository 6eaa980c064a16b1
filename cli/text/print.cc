#include "cli/text/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iterator>

const char* dtype_name(int32_t dtype) {
  // Indexed by intarsia_dtype.
  static const char* const names[] = {
      "undefined",  "f32",    "u8",         "i8",  "u16", "i16",    "i32",    "i64",  "string",
      "bool",       "f16",    "f64",        "u32", "u64", "c64",    "c128",   "bf16", "f8e4m3fn",
      "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4",  "i4",  "f4e2m1", "f8e8m0", "u2",   "i2"};
  return dtype < 0 || static_cast<size_t>(dtype) >= std::size(names) ? "unknown" : names[dtype];
}

std::string print_type(const std::string& dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", dtype, fmt::join(shape, ","));
}

std::string print_type(const Json& port) {
  const std::string dtype = port["dtype"].get<std::string>();
  if (port["shape"].is_null()) return dtype + "[*]";
  std::vector<std::string> sizes;
  for (const Json& size : port["shape"])
    sizes.push_back(size.is_null() ? "?" : size.is_string() ? size.get<std::string>() : size.dump());
  return fmt::format("{}[{}]", dtype, fmt::join(sizes, ","));
}

Json describe_tensor(const intarsia_tensor& tensor) {
  if (tensor.kind != INTARSIA_TENSOR) return {{"dtype", nullptr}, {"shape", nullptr}};
  return {{"dtype", dtype_name(tensor.dtype)},
          {"shape", std::vector<int64_t>(tensor.shape, tensor.shape + tensor.rank)}};
}

Json describe_alternative(const intarsia::Alternative& alternative) {
  const Json milliseconds =
      alternative.measured_ns == 0 ? Json(nullptr) : Json(static_cast<double>(alternative.measured_ns) / 1e6);
  return {{"number", alternative.number},
          {"targets", alternative.targets},
          {"measured_ms", milliseconds},
          {"reason", alternative.number == 0 ? Json(nullptr) : Json(alternative.reason)}};
}

std::string print_alternative(const Json& alternative) {
  if (alternative["number"] == 0) return {};
  const Json& time = alternative["measured_ms"];
  const std::string targets = alternative["targets"];
  const bool is_interpreted = targets.find("reference@") != std::string::npos;
  return fmt::format("note   runs on {}{}{}: {}\n", targets,
                     time.is_null() ? "" : fmt::format(" ({:.3g} ms when compiled)", time.get<double>()),
                     is_interpreted ? ", where reference is an interpreter, and slow" : "",
                     alternative["reason"].get<std::string>());
}

std::string print_sizes(const Json& sizes) {
  std::string text;
  for (const auto& [symbol, size] : sizes.items())
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", symbol, size.get<int64_t>());
  return text;
}

std::string print_bytes(double bytes) {
  const char* units[] = {"bytes", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string count_of(size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}
