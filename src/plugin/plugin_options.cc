#include "plugin/plugin_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

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

Status check_plugin_settings(const Plugin& plugin, std::span<const DeviceSetting> settings) {
  std::set<std::string> seen;
  for (const DeviceSetting& setting : settings) {
    const auto is_known = std::ranges::any_of(
        options_of(plugin), [&](const auto* option) { return setting.name == option->name; });
    const std::string known = list_plugin_options(plugin);
    if (!is_known)
      return fail("unknown option '{}'; {} {}", setting.text(), plugin.who(),
                  known.empty() ? "has none" : "has: " + known);
    if (!seen.insert(setting.name).second) return fail("option '{}' is given twice", setting.name);
  }
  return {};
}

}  // namespace intarsia
