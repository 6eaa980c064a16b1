// The plug-ins of this process: those that were loaded, and those that INTARSIA_PLUGINS names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/plugin_library.h"

namespace intarsia {

/// Opens the library and adds the plug-in. Nothing happens when it is there already. Error: that of
/// Plugin::open, or another plug-in has its name. Thread-safe, as what follows.
Status load_plugin(const std::string& path);

/// In the order in which they were loaded, those of INTARSIA_PLUGINS first. That is a list of paths with
/// colons between them, read once.
std::vector<std::shared_ptr<const Plugin>> loaded_plugins();

/// Null: there is none of that name.
std::shared_ptr<const Plugin> find_plugin(const std::string& name);

/// The error of what INTARSIA_PLUGINS names and cannot be loaded.
Status check_plugins_of_environment();

}  // namespace intarsia
