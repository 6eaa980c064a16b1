// Compile half of plug-ins.
#pragma once

#include <memory>

#include "plugin/plugin_library.h"
#include "target/target.h"

namespace intarsia {

/// Makes a target named after the plug-in, for its devices alone. The plug-in must have a compiler.
std::unique_ptr<Target> make_plugin_target(std::shared_ptr<const Plugin> plugin);

}  // namespace intarsia
