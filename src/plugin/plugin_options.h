// Options behind the name of a plug-in's device: "toy_npu:0?power=low&cores=2".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugin/plugin_library.h"

namespace intarsia {

struct PluginSetting {
  std::string name, value;
};

/// Reads the settings behind the question mark. Errors: the plug-in lacks an option (the message lists those
/// it has), or an option is given twice.
Result<std::vector<PluginSetting>> read_plugin_settings(const Plugin& plugin, std::string_view text);

/// Lists the options for people, as "power (low or high), cores (...)"; empty if there are none.
std::string list_plugin_options(const Plugin& plugin);

}  // namespace intarsia
