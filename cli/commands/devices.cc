// intarsia devices
#include <fmt/format.h>

#include <intarsia/intarsia_compile.hpp>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/text/print.h"
#include "cli/text/progress.h"
#include "cli/usage/plugins.h"

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

bool is_available(const Json& device) {
  return device["description"].get<std::string>().rfind("not available", 0) != 0;
}

/// Formats the names of the available devices, one per line.
std::string print_names(const Json& report) {
  std::string text;
  for (const Json& device : report["devices"])
    if (is_available(device)) text += device["name"].get<std::string>() + "\n";
  return text;
}

void devices(bool json, Verbosity verbosity) {
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
  if (verbosity == Verbosity::quiet) {
    std::fputs(print_names(report).c_str(), stdout);
    return;
  }
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
  struct DevicesOptions {
    bool json = false;
    Verbosity verbosity = Verbosity::normal;
  };
  auto options = std::make_shared<DevicesOptions>();
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  command->callback([options] { devices(options->json, options->verbosity); });
}
