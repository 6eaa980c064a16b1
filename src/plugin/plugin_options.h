// Options behind the name of a plug-in's device: "toy_npu:0?power=low&cores=2".
#pragma once

#include <span>
#include <string>

#include "base/device_name.h"
#include "plugin/plugin_library.h"

namespace intarsia {

/// Errors: the plug-in lacks an option that is set (the message lists those it has), or one is set twice.
Status check_plugin_settings(const Plugin& plugin, std::span<const DeviceSetting> settings);

/// Lists the options for people, as "power (low or high), cores (...)"; empty if there are none.
std::string list_plugin_options(const Plugin& plugin);

}  // namespace intarsia
