// Plug-ins of this process: those that were loaded, and those that INTARSIA_PLUGINS names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/plugin_library.h"

namespace intarsia {

/// Checks that this build has plug-ins. Error: it leaves them out.
Status check_plugin_support();

/// Opens the library and adds the plug-in, unless it is loaded already. Thread-safe, like the functions
/// below. Errors: those of Plugin::open, or another plug-in has its name.
Status load_plugin(const std::string& path);

/// Lists the plug-ins in load order, those of INTARSIA_PLUGINS first. That variable is a colon-separated list
/// of paths, read once.
std::vector<std::shared_ptr<const Plugin>> loaded_plugins();

/// Finds a plug-in by name; returns null if there is none.
std::shared_ptr<const Plugin> find_plugin(const std::string& name);

/// Checks INTARSIA_PLUGINS. Error: that of the first plug-in in it that could not be loaded, or that of
/// check_plugin_support().
Status check_plugins_of_environment();

}  // namespace intarsia
