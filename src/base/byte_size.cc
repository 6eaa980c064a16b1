#include "base/byte_size.h"

#include <array>
#include <charconv>
#include <cmath>

namespace intarsia {
namespace {

constexpr std::array units = {"KB", "MB", "GB", "TB"};

/// Returns the bytes of a unit, or 0 for an unknown one.
double find_unit(std::string_view unit) {
  if (unit.empty() || unit == "bytes" || unit == "B") return 1;
  double bytes = 1;
  for (const char* name : units) {
    bytes *= 1024;
    if (unit == name) return bytes;
  }
  return 0;
}

}  // namespace

std::string print_byte_size(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

Result<uint64_t> parse_byte_size(std::string_view text) {
  double amount = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const double bytes = std::floor(amount * find_unit(unit));
  constexpr double most = 9.2e18;
  if (error != std::errc() || !(bytes >= 1 && bytes < most))
    return fail("got '{}', want a size, as in 4096, 64MB or 1.5GB (a KB is 1024 bytes)", text);
  return static_cast<uint64_t>(bytes);
}

}  // namespace intarsia
