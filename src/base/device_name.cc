#include "base/device_name.h"

#include <algorithm>
#include <charconv>

namespace intarsia {
namespace {

std::vector<DeviceSetting> parse_settings(std::string_view text) {
  std::vector<DeviceSetting> settings;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = std::min(pair.find('='), pair.size());
    settings.push_back(
        {std::string(pair.substr(0, equals)), std::string(pair.substr(std::min(equals + 1, pair.size())))});
  }
  return settings;
}

}  // namespace

std::string_view device_kind(std::string_view name) { return name.substr(0, name.find_first_of(":?")); }

Result<DeviceName> DeviceName::parse(std::string_view text) {
  DeviceName name;
  name.text = text;
  name.kind = device_kind(text);
  const std::string_view plain = text.substr(0, text.find('?'));
  const bool has_unit = plain.size() > name.kind.size();
  if (has_unit) name.unit = plain.substr(name.kind.size() + 1);
  if (plain.size() < text.size()) name.settings = parse_settings(text.substr(plain.size() + 1));
  const DeviceSetting* cores = name.kind == "opencl" ? name.find_setting("cores") : nullptr;
  if (name.kind == "cpu" && has_unit) name.cores = TRY(CoreSet::parse(text.substr(name.kind.size() + 1)));
  if (cores != nullptr) name.cores = TRY(CoreSet::parse(cores->value));
  return name;
}

Result<size_t> DeviceName::index() const {
  size_t number = 0;
  const auto [end, error] = std::from_chars(unit.data(), unit.data() + unit.size(), number);
  const bool is_number = error == std::errc() && end == unit.data() + unit.size() && unit.size() <= 4;
  if (!is_number) return fail("want {0}:N with a number, as in {0}:0", kind);
  return number;
}

const DeviceSetting* DeviceName::find_setting(std::string_view name) const {
  const auto at = std::ranges::find(settings, name, &DeviceSetting::name);
  return at == settings.end() ? nullptr : &*at;
}

}  // namespace intarsia
