// Plug-ins of a build without them: there are none.
#include "base/left_out.h"
#include "plugin/loaded_plugins.h"
#include "plugin/plugin_options.h"

namespace intarsia {

Status check_plugin_support() { return left_out("plug-ins", "INTARSIA_WITH_PLUGINS"); }
Status load_plugin(const std::string&) { return check_plugin_support(); }
std::vector<std::shared_ptr<const Plugin>> loaded_plugins() { return {}; }
std::shared_ptr<const Plugin> find_plugin(const std::string&) { return nullptr; }
Status check_plugins_of_environment() { return check_plugin_support(); }
Status check_plugin_settings(const Plugin&, std::span<const DeviceSetting>) { return check_plugin_support(); }

}  // namespace intarsia
