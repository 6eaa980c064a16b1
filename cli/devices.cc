// intarsia devices
#include <fmt/format.h>

#include <intarsia/intarsia_compile.hpp>
#include <memory>

#include "commands.h"
#include "plugins.h"
#include "print.h"

namespace {

Json list_devices() {
  Json list = Json::array();
  for (size_t i = 0; i < intarsia_device_count(); ++i) {
    intarsia_device device{};
    device.struct_size = sizeof(device);
    intarsia::detail::check(intarsia_device_info(i, &device));
    list.push_back({{"name", device.name}, {"description", device.description}});
  }
  return list;
}

void devices(bool json) {
  Json report;
  report["devices"] = list_devices();
  std::string why_no_backends;
  try {
    report["backends"] = Json::parse(intarsia::Compiler::get().backends())["backends"];
  } catch (const intarsia::Error& error) {
    report["backends"] = nullptr;  // programs run without a compiler
    why_no_backends = error.what();
  }
  if (json) return print_json(report);
  std::string text = "Devices:\n";
  for (const Json& device : report["devices"]) {
    text += fmt::format("  {:<12} {}\n", device["name"].get<std::string>(),
                        device["description"].get<std::string>());
  }
  text += "Backends to compile with, in order of preference:\n";
  if (report["backends"].is_null()) text += fmt::format("  none: {}\n", why_no_backends);
  for (const Json& backend : report["backends"]) {
    const bool present = backend["present"].get<bool>();
    text += fmt::format("  {:<12} {}\n", backend["name"].get<std::string>(),
                        present ? backend["version"].get<std::string>()
                                : "not available: " + backend["why"].get<std::string>());
  }
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void add_devices_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the devices and backends of this machine");
  add_plugin_option(*command);
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object on standard output (docs/json.md)");
  command->callback([json] { devices(*json); });
}
