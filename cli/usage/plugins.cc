#include "cli/usage/plugins.h"

#include <intarsia/intarsia.hpp>
#include <string>
#include <vector>

CLI::Option* add_plugin_option(CLI::App& command) {
  return command
      .add_option_function<std::vector<std::string>>(
          "--plugin",
          [](const std::vector<std::string>& paths) {
            for (const std::string& path : paths) intarsia::load_plugin(path);
          },
          "Library with a device of your own (include/intarsia/plugin.h), besides those that "
          "INTARSIA_PLUGINS names")
      ->type_name("LIB.so")
      ->allow_extra_args(false);
}
