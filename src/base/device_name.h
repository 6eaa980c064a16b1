// Names of devices, taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core_set.h"

namespace intarsia {

/// Setting behind the question mark: "gbps=5".
struct DeviceSetting {
  std::string name, value;
  std::string text() const { return value.empty() ? name : name + "=" + value; }
  bool operator==(const DeviceSetting&) const = default;
};

/// Name of a device: "KIND", "KIND:UNIT" or "KIND:UNIT?NAME=VALUE&NAME=VALUE".
struct DeviceName {
  std::string text;                     // whole name: "opencl:0?cores=0-1"
  std::string kind;                     // "opencl"; for a device of a plug-in, the plug-in's name
  std::string unit;                     // which of its kind: "0", "GPU.1", "0-1+4"; empty if not named
  std::optional<CoreSet> cores;         // cores of "cpu:0-1" and "opencl:0?cores=0-1"
  std::vector<DeviceSetting> settings;  // in order

  /// Error: the text names cores in a form that CoreSet::parse does not know.
  static Result<DeviceName> parse(std::string_view text);

  /// Returns the name without settings: "opencl:0".
  std::string without_settings() const { return text.substr(0, text.find('?')); }
  /// Returns the unit as a number. Error: it is none; the message says what to write.
  Result<size_t> index() const;
  /// Returns the setting, or null.
  const DeviceSetting* find_setting(std::string_view name) const;
};

/// Returns the kind of a device's name: "sim" of "sim:0?gbps=5".
std::string_view device_kind(std::string_view name);

}  // namespace intarsia
