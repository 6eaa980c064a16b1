#include "plugin/plugin_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "plugin/one_line.h"

namespace intarsia {
namespace {

std::span<const intarsia_plugin_option* const> options_of(const Plugin& plugin) {
  return {plugin.runtime().options, plugin.runtime().option_count};
}

}  // namespace

std::string list_plugin_options(const Plugin& plugin) {
  std::vector<std::string> texts;
  for (const intarsia_plugin_option* option : options_of(plugin))
    texts.push_back(option->about == nullptr ? std::string(option->name)
                                             : fmt::format("{} ({})", option->name, one_line(option->about)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

Result<std::vector<PluginSetting>> read_plugin_settings(const Plugin& plugin, std::string_view text) {
  std::vector<PluginSetting> settings;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string name(pair.substr(0, equals));
    const auto is_known =
        std::ranges::any_of(options_of(plugin), [&](const auto* option) { return name == option->name; });
    const std::string known = list_plugin_options(plugin);
    if (!is_known)
      return fail("unknown option '{}'; {} {}", pair, plugin.who(),
                  known.empty() ? "has none" : "has: " + known);
    if (std::ranges::find(settings, name, &PluginSetting::name) != settings.end())
      return fail("option '{}' is given twice", name);
    settings.push_back({name, std::string(pair.substr(std::min(equals + 1, pair.size())))});
  }
  return settings;
}

}  // namespace intarsia
