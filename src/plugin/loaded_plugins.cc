#include "plugin/loaded_plugins.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace intarsia {
namespace {

/// Registry of plug-ins; never destroyed, as their devices may outlive statics.
class LoadedPlugins {
 public:
  static LoadedPlugins& get() {
    static LoadedPlugins& one = *new LoadedPlugins;
    return one;
  }

  Status add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return open(path);
  }
  std::vector<std::shared_ptr<const Plugin>> list() const {
    const std::lock_guard lock(mutex_);
    return plugins_;
  }
  const Status& environment() const { return environment_; }

 private:
  LoadedPlugins() {
    const char* paths = std::getenv("INTARSIA_PLUGINS");
    std::string_view rest = paths == nullptr ? "" : paths;
    while (!rest.empty()) {
      const std::string path(rest.substr(0, rest.find(':')));
      rest.remove_prefix(std::min(rest.size(), path.size() + 1));
      const Status opened = path.empty() ? Status() : open(path);
      if (!opened && environment_) environment_ = with_context(opened, "INTARSIA_PLUGINS");
    }
  }

  Status open(const std::string& path) {
    std::shared_ptr<const Plugin> plugin = TRY(Plugin::open(path));
    for (const auto& known : plugins_) {
      if (known->is_same(*plugin)) return {};
      if (known->name() == plugin->name())
        return fail("plug-in '{}' is named '{}', as the one of '{}' that is loaded; load one of them", path,
                    plugin->name(), known->path());
    }
    plugins_.push_back(std::move(plugin));
    return {};
  }

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Plugin>> plugins_;
  Status environment_;
};

}  // namespace

Status check_plugin_support() { return {}; }

Status load_plugin(const std::string& path) { return LoadedPlugins::get().add(path); }

std::vector<std::shared_ptr<const Plugin>> loaded_plugins() { return LoadedPlugins::get().list(); }

std::shared_ptr<const Plugin> find_plugin(const std::string& name) {
  for (auto& plugin : loaded_plugins())
    if (plugin->name() == name) return plugin;
  return nullptr;
}

Status check_plugins_of_environment() { return LoadedPlugins::get().environment(); }

}  // namespace intarsia
